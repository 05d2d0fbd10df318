"""The kinds of targets: a model, a command, a Python function."""
