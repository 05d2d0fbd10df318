"""How values show themselves in a notebook: as reports show them, which are loaded only then."""

from __future__ import annotations

import importlib
from typing import Final

# By its name, since values know nothing of reports.
_MODULE: Final = "evenhand.reports.html.notebook"


class ShownInNotebooks:
    """A value that a notebook shows as small HTML, without scripts."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(importlib.import_module(_MODULE).html_of(self))
