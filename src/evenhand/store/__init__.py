"""Stored runs: one schema and one set of statements, for SQLite and PostgreSQL."""
