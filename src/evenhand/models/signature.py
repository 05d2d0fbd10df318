"""AWS Signature Version 4, with which requests to Amazon show whose they are."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from evenhand.domain.errors import ConfigError
from evenhand.domain.secret import Secret

_ALGORITHM: Final = "AWS4-HMAC-SHA256"
# Of the headers, these and those of Amazon's own are signed; the others may be changed on the way.
_SIGNED: Final = frozenset({"content-type", "host"})
_AMAZONS: Final = "x-amz-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signer:
    """Signs requests with the keys of an AWS account, for one service in one region.

    A signature is good for minutes, so each request is signed when it is sent.
    """

    access_key: Secret
    secret_key: Secret
    session_token: Secret | None = None
    region: str
    service: str
    clock: Callable[[], float] = field(default=time.time, repr=False, compare=False)

    def __post_init__(self) -> None:
        for key in self.secrets:
            if not key.reveal().isascii() or not key.reveal().isprintable():  # named, and not shown
                raise ConfigError("a key of the AWS account has a character that cannot be sent, such as a line break")

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What nobody else may see; the first is sent, as whose the signature is."""
        keys = (self.access_key, self.secret_key)
        return keys if self.session_token is None else (*keys, self.session_token)

    def lines(self, head: bytes, body: bytes) -> bytes:
        """Return what to add to the head of a POST, as it is sent, each line after a line break."""
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self.clock()))
        first, *sent = head.decode("latin-1").split("\r\n")
        headers = [(name, " ".join(value.split())) for name, _, value in (line.partition(":") for line in sent)]
        added = [("x-amz-date", moment)]
        if self.session_token is not None:
            added.append(("x-amz-security-token", self.session_token.reveal()))
        signed = sorted(
            [header for header in headers if header[0] in _SIGNED or header[0].startswith(_AMAZONS)] + added
        )
        names = ";".join(name for name, _ in signed)
        request = [
            "POST",
            # Quoted once more: the server unquotes it before it looks.
            quote(_path(first.split(" ")[1]), safe="/~"),
            "",  # the query, of which there is none
            *(f"{name}:{value}" for name, value in signed),
            "",
            names,
            hashlib.sha256(body).hexdigest(),
        ]
        scope = [moment[:8], self.region, self.service, "aws4_request"]
        digest = hashlib.sha256("\n".join(request).encode("latin-1")).hexdigest()
        text = "\n".join([_ALGORITHM, moment, "/".join(scope), digest])
        key = f"AWS4{self.secret_key.reveal()}".encode()
        for word in scope:
            key = hmac.digest(key, word.encode(), "sha256")
        credential = "/".join([self.access_key.reveal(), *scope])
        signature = hmac.new(key, text.encode(), "sha256").hexdigest()
        proof = f"{_ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}"
        added.append(("authorization", proof))
        return "".join(f"\r\n{name}: {value}" for name, value in added).encode("latin-1")


def _path(target: str) -> str:
    """Return the path that the server gets; a proxy that reads requests is told the whole address."""
    return target if target.startswith("/") else "/" + target.split("/", 3)[3]
