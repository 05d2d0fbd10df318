"""Telling that a model is asked at an address which stands in a variable: whoever set that gets the key."""

from __future__ import annotations

import functools
import logging
from typing import Final

ADDRESSES: Final = logging.getLogger("evenhand.addresses")


@functools.cache
def tell_address(model: str, url: str, variable: str) -> None:
    """Tell once, before the first request; the record has the ``variable``, for those who know where it was set."""
    ADDRESSES.warning("%s is asked at %s (%s)", model, url, variable, extra={"variable": variable})
