"""Profiles: read from wherever they are, and scored by criteria."""
