"""The command line: a small file for each command."""

import sys


def main() -> None:
    """Run the command that was typed."""
    try:
        from evenhand.cli.main import main as run  # noqa: PLC0415 - Ctrl-C may come while it loads

        run()
    except KeyboardInterrupt:
        sys.exit(130)
