"""Acting on what evaluators want to know."""
