"""Count: means with error bars, in plain Python, so that a report loads nothing heavy."""
