"""Asking models: one HTTP client, small dialects, adapters for other people's objects."""
