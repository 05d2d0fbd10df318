"""A run from the command line: started, watched, resumed and finished."""
