"""A run as an HTML file."""
