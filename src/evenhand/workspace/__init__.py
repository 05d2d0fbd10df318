"""Prompts and their test cases: checked, exported, imported, and run on models."""
