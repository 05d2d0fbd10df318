"""`python -m evenhand` is the command `evenhand`."""

from evenhand.cli import main

main()
