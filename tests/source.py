"""The source, taken apart once: for the tests that look at all of it, which are of the group ``source``."""

from __future__ import annotations

import ast
import functools
import gc
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "evenhand"


@functools.cache
def modules() -> dict[Path, ast.Module]:
    """Parse every module."""
    was_enabled = gc.isenabled()
    gc.disable()  # all that is made here stays; to look among it for garbage takes longer than the parsing
    try:
        return {path: ast.parse(path.read_text("utf-8"), filename=str(path)) for path in sorted(PACKAGE.rglob("*.py"))}
    finally:
        if was_enabled:
            gc.freeze()
            gc.enable()


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """Return every node of a module."""
    return tuple(ast.walk(modules()[path]))
