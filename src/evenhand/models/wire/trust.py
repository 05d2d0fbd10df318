"""Whose certificates are trusted."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    import ssl


@functools.cache
def trusting(ca_file: str | None) -> ssl.SSLContext:
    """Trust the certificate authorities in a file, and no others; without a file, those of the system."""
    import ssl  # noqa: PLC0415 - for servers that are asked over TLS

    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:  # ssl.SSLError is one too
        why = error.strerror if error.filename or not isinstance(error, ssl.SSLError) else "it holds no certificates"
        raise ConfigError(f"ca_file {ca_file!r} cannot be used: {why or error}") from None
    context.set_alpn_protocols(["http/1.1"])
    return context
