"""Turning the files of other tools into suites, with a list of whatever could not be carried over."""
