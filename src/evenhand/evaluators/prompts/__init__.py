"""The texts of our own prompts."""
