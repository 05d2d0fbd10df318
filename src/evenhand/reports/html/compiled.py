"""Templates that are compiled once, and kept where Python keeps its compiled modules.

To compile the templates of a page takes about a tenth of a second, which the first visitor after each start would wait.
"""

from __future__ import annotations

import contextlib
import sys
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
from jinja2 import FileSystemBytecodeCache

from evenhand.version import __version__

if TYPE_CHECKING:
    from jinja2.bccache import Bucket


class CompiledTemplates(FileSystemBytecodeCache):
    """Compiled templates. Jinja2 compares the source of each; what cannot be read or written is compiled again.

    The code depends on the options of the environment, too: whoever changes them deletes ``__pycache__``, or the
    version is another.
    """

    def __init__(self) -> None:
        folder = Path(cache_from_source(__file__)).parent
        super().__init__(str(folder), f"template-{__version__}-{jinja2.__version__}-%s.cache")

    def load_bytecode(self, bucket: Bucket) -> None:
        """Read what was compiled, if it is there."""
        try:
            super().load_bytecode(bucket)
        except Exception:  # a file that is not as it was written may raise anything
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled, unless Python is told to keep nothing."""
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):
                Path(self.directory).mkdir(parents=True, exist_ok=True)
                super().dump_bytecode(bucket)
