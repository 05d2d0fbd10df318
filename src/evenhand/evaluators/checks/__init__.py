"""The checks that need no judge."""
