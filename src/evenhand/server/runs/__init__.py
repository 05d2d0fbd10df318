"""Runs as the server has them: worked on, summarized, listed and compared, for the API and the pages."""
