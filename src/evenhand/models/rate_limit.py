"""How often a model may be asked: requests and tokens per minute that a user set, and what providers' headers say."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from evenhand.domain.message import Message

_MINUTE: Final = 60.0
# How much of a minute's requests may begin at once, in seconds.
_BURST_SECONDS: Final = 1.0
# Tokens come in larger portions than requests.
_TOKEN_BURST_SECONDS: Final = 10.0
_CHARACTERS_PER_TOKEN: Final = 4

# What may be left of a window, and when it begins anew, as OpenAI and Anthropic write it. Others write it as they do.
_WINDOWS: Final = (
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
)
_REMAINING: Final = frozenset(remaining for remaining, _ in _WINDOWS)
_LONGEST_HEADER: Final = 40
_DURATION: Final = re.compile(r"(?:(\d{1,4})h)?(?:(\d{1,4})m)?(?:(\d{1,6}(?:\.\d{1,9})?)s)?(?:(\d{1,7})ms)?")


class RateLimit:
    """Requests and tokens per minute: never more within any minute, and spread over it.

    What a request takes is estimated before it is sent and settled when its usage is known.
    """

    def __init__(
        self, *, rpm: float | None = None, tpm: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._buckets = [
            None if most is None else _Bucket(most, burst, clock())
            for most, burst in ((rpm, _BURST_SECONDS), (tpm, _TOKEN_BURST_SECONDS))
        ]
        self._clock = clock

    def take(self, tokens: float) -> float:
        """Take a request of so many tokens; or return how many seconds to wait before it can be taken."""
        now = self._clock()
        requests, token_bucket = self._buckets
        wait = max(
            0.0 if requests is None else requests.wait(1.0, now),
            0.0 if token_bucket is None else token_bucket.wait(tokens, now),
        )
        if wait > 0:
            return wait
        if requests is not None:
            requests.level -= 1.0
        if token_bucket is not None:
            token_bucket.level -= tokens
        return 0.0

    def settle(self, estimated: float, used: float) -> None:
        """Correct what a request took, now that it is known."""
        if (token_bucket := self._buckets[1]) is not None:
            token_bucket.level += estimated - used


class _Bucket:
    """Fills steadily, and never lets more than ``most`` through within a minute."""

    def __init__(self, most: float, burst_seconds: float, now: float) -> None:
        self.size = max(1.0, most * burst_seconds / _MINUTE)
        # With a full bucket at its beginning, a minute lets through what it holds and what flows in.
        self.rate = max(most - self.size, most / 2) / _MINUTE
        self.level = self.size
        self._filled_at = now

    def wait(self, amount: float, now: float) -> float:
        """Return how many seconds it takes until the bucket has so much; more than it can hold needs it full."""
        self.level = min(self.size, self.level + (now - self._filled_at) * self.rate)
        self._filled_at = now
        missing = min(amount, self.size) - self.level
        return missing / self.rate if missing > 1e-9 else 0.0


def estimated_tokens(messages: Iterable[Message], expected_output: int | None) -> float:
    """Estimate the tokens of a request and its reply, by the length of its messages."""
    return sum(len(message.content) for message in messages) / _CHARACTERS_PER_TOKEN + (expected_output or 0)


def exhausted_seconds(headers: Mapping[str, str], *, now: float) -> float | None:
    """Return how long nothing should be sent, by the headers of a response: None if something is left.

    >>> exhausted_seconds({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2s"}, now=0)
    62.0
    >>> exhausted_seconds({"x-ratelimit-remaining-requests": "7", "x-ratelimit-reset-requests": "1s"}, now=0)
    """
    if _REMAINING.isdisjoint(headers):
        return None
    longest = None
    for remaining, reset in _WINDOWS:
        left = headers.get(remaining)
        if left is not None and left.strip() == "0":
            seconds = _reset_seconds(headers.get(reset, ""), now)
            if seconds is not None and seconds > (longest or 0.0):
                longest = seconds
    return longest


def _reset_seconds(text: str, now: float) -> float | None:
    """Read when a window begins anew: a duration such as ``6m0s`` or ``120ms``, seconds, or a time."""
    text = text.strip()
    if not text or len(text) > _LONGEST_HEADER:
        return None
    with contextlib.suppress(ValueError):
        seconds = float(text)
        return seconds if 0 < seconds < float("inf") else None
    if match := _DURATION.fullmatch(text):
        hours, minutes, seconds_text, milliseconds = match.groups(default="0")
        return int(hours) * 3600 + int(minutes) * 60 + float(seconds_text) + int(milliseconds) / 1000
    from datetime import datetime  # noqa: PLC0415 - only some providers write times

    with contextlib.suppress(ValueError, OverflowError):
        seconds = datetime.fromisoformat(text).timestamp() - now
        return seconds if seconds > 0 else None
    return None
