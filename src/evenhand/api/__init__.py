"""The library's functions: thin doors onto the evaluators, the engine and the profiles."""
