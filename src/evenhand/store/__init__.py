"""Keeping runs: one schema and one set of statements, in a file or in PostgreSQL."""
