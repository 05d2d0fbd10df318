"""Better prompts from labels: candidates, cross-validation, and whether one is adopted."""
