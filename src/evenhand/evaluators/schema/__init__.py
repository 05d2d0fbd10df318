"""Judging by a JSON Schema that nobody has to trust."""
