"""The functions of the library: thin wrappers of the evaluators, the engine and the profiles."""
