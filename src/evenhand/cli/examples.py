"""Examples, with which the help of every command ends."""

from __future__ import annotations


def example(*commands: str) -> str:
    """Write commands so that the help shows them as they are typed."""
    return "\b\n" + "\n".join(["Example:" if len(commands) == 1 else "Examples:", *(f"  {one}" for one in commands)])
