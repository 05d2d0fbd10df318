"""Makes the pages of docs/reference/ from the program itself: ``python -m docs.generate``."""
