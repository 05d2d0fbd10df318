"""Show what came of a run, to people and to programs."""
