"""The command line: one small file per verb."""

from evenhand.cli.main import main

__all__ = ["main"]
