"""The command line: one small file per verb."""

import sys


def main() -> None:
    """Run the command that was typed."""
    try:
        from evenhand.cli.main import main as run  # Ctrl-C may come while it loads

        run()
    except KeyboardInterrupt:
        sys.exit(130)
