"""The one owner of transport retries: what is tried again, when, and how often (SPEC-E6).

A client writes down a single try, a coroutine function that gives a ``Reply`` or raises ``TransportFault``, and lets
``ask_with_retries`` repeat it.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from evenhand.domain.ask import Allowance, Turn
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered


class TransportFault(Exception):  # noqa: N818 - raised by one try, caught below, and never seen by users
    """A request that brought no reply: ``kind`` is its class, the message a sentence about it.

    ``retry_after`` is how long the server asked to wait, in seconds. ``at_once`` is for a try that was changed to suit
    the server: waiting would gain nothing.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool,
        retry_after: float | None = None,
        at_once: bool = False,
    ) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.retry_after = retry_after
        self.at_once = at_once

    @property
    def failure(self) -> Failure:
        """Return what went wrong as a value."""
        return Failure(self.kind, self.message)

    def saying(self, message: str) -> TransportFault:
        """Return the same fault in other words."""
        return TransportFault(
            self.kind, message, retryable=self.retryable, retry_after=self.retry_after, at_once=self.at_once
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a request is sent for one reply, and how long to wait in between (seconds).

    The wait starts at about ``base``, doubles up to ``cap``, and is never quite regular, so that many clients do not
    come back together. A server's ``Retry-After`` is honoured up to ``retry_after_cap``.
    """

    max_transport_attempts: int = 5
    base: float = 0.5
    cap: float = 8.0
    retry_after_cap: float = 60.0

    def __post_init__(self) -> None:
        most = self.max_transport_attempts
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise ConfigError(f"max_transport_attempts is {most!r}; it must be a whole number, 1 or more")
        for name in ("base", "cap", "retry_after_cap"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < math.inf:
                raise ConfigError(f"{name} is {value!r}; it must be a finite number of seconds, 0 or more")

    def wait(self, failures: int, fault: TransportFault, chance: float) -> float:
        """Return the seconds to wait after that many failures; ``chance`` is a random number from 0 to 1."""
        if fault.at_once:
            return 0.0
        if fault.retry_after is not None:
            # Never earlier than the server asked for.
            return min(fault.retry_after, self.retry_after_cap) + chance * self.base
        longest = min(self.cap, self.base * 2.0 ** min(failures - 1, 32))
        return longest * (0.5 + 0.5 * chance)


async def ask_with_retries(
    once: Callable[[float], Awaitable[Reply]],
    *,
    policy: RetryPolicy,
    deadline: float | None,
    allowance: Allowance | None = None,
    turn: Turn | None = None,
    sent_once: bool = False,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> Reply | Unanswered:
    """Try until there is a reply, a fault that trying again cannot mend, no attempt left, or no time.

    ``once`` is given the seconds that it may take (infinite without a ``deadline``, which is a ``clock`` time) and
    raises ``TransportFault``. Its reply carries the record of its own request; the failed ones are put before it.
    Each try takes one from the ``allowance``. What is ``sent_once`` is tried again only in another form. The ``turn``
    is given back while the next try waits; waiting for it again does not count as time.
    """
    failed: list[Attempt] = []
    fault: TransportFault | None = None
    while True:
        began = clock()
        seconds = math.inf if deadline is None else deadline - began
        if seconds <= 0:
            return _unanswered(failed, Failure("deadline", "no time was left to ask"), fault)
        if allowance is not None and not allowance.take():
            return _unanswered(failed, Failure(BUDGET, "no more calls are allowed"), fault)
        try:
            reply = await once(seconds)
        except TransportFault as caught:
            # Without its traceback, which would keep what was sent in memory until the collector comes by.
            fault = caught.with_traceback(None)
        else:
            return replace(reply, attempts=(*failed, *reply.attempts)) if failed else reply
        now = clock()
        failed.append(Attempt(kind="transport", error=fault.failure, latency=now - began))
        if not fault.retryable or (sent_once and not fault.at_once) or len(failed) >= policy.max_transport_attempts:
            return _unanswered(failed, _last_failure(fault, len(failed), policy, sent_once=sent_once), fault)
        wait = policy.wait(len(failed), fault, chance())
        if deadline is not None and now + wait >= deadline:
            return _unanswered(
                failed, Failure(fault.kind, f"{fault.message}; the next try would have missed the deadline"), fault
            )
        if turn is None or fault.at_once:
            await sleep(wait)
            continue
        turn.give_back(fault.failure, fault.retry_after)
        await sleep(wait)
        slept = clock()
        if not await turn.take_back():
            return _unanswered(failed, fault.failure, fault)
        deadline = deadline and deadline + clock() - slept


def status_fault(
    status: int, message: str, *, code: str | None = None, retry_after: float | None = None
) -> TransportFault:
    """Class an HTTP status that is no success, with the provider's own error ``code`` where it gives one."""
    if is_quota(code):
        kind = _QUOTA
    elif code == "content_filter":
        kind = "filtered"
    else:
        kind = _KINDS.get(status) or ("server_error" if status >= 500 else "http_error")
    retryable = kind != _QUOTA and (status in _WORTH_ANOTHER_TRY or status >= 500)
    return TransportFault(kind, f"HTTP {status}: {message}", retryable=retryable, retry_after=retry_after)


def error_body_fault(message: str, *, code: str | None, retry_after: float | None = None) -> TransportFault:
    """Class an error that came with status 200: such a status means nothing, and its code may be one or a word."""
    # Of three digits: a code is anybody's text, and may have more of them than can be read as a number.
    if code is not None and len(code) == 3 and code.isdecimal() and 400 <= int(code) <= 599:
        return status_fault(int(code), message, retry_after=retry_after)
    if is_quota(code):
        return TransportFault(_QUOTA, message, retryable=False)
    lasting = code is not None and code.lower() in _LASTING_CODES
    return TransportFault("error_body", message, retryable=not lasting, retry_after=retry_after)


def quoted(text: str) -> str:
    """Put a text of unknown length and kind on one short line that can be shown."""
    line = "".join(
        character if character.isprintable() else "�" for character in " ".join(text[:_LONGEST_READ].split())
    )
    is_whole = len(line) <= _LONGEST_QUOTE and len(text) <= _LONGEST_READ
    return line if is_whole else line[: _LONGEST_QUOTE - 1] + "…"


def is_quota(code: str | None) -> bool:
    """Return whether an account is used up: like a rate limit, that comes with status 429, and does not pass."""
    return code is not None and code.lower() in _QUOTA_CODES


def retry_after_seconds(text: str | None, *, now: float) -> float | None:
    """Read a ``Retry-After`` header, seconds or an HTTP date, at the wall-clock time ``now``; None if it says nothing.

    >>> retry_after_seconds("7", now=0), retry_after_seconds("Thu, 01 Jan 1970 00:00:09 GMT", now=2)
    (7.0, 7.0)
    >>> retry_after_seconds("-1", now=0), retry_after_seconds("soon", now=0)
    (None, None)
    """
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = _http_date(text) - now
    return seconds if 0 < seconds < math.inf else None


def _http_date(text: str) -> float:
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - dates are rare

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return math.nan


def _unanswered(failed: list[Attempt], error: str, fault: TransportFault | None) -> Unanswered:
    return Unanswered(error=error, attempts=tuple(failed), retry_after=None if fault is None else fault.retry_after)


def _last_failure(fault: TransportFault, requests: int, policy: RetryPolicy, *, sent_once: bool) -> Failure:
    """Return a fault after which nothing is tried; one that was worth another try says how many there were."""
    if not fault.retryable or sent_once or requests < policy.max_transport_attempts:
        return fault.failure
    return Failure(fault.kind, f"{fault.message}; gave up after {_format_requests(requests)}")


def _format_requests(requests: int) -> str:
    return "1 request" if requests == 1 else f"{requests} requests"


# The class of a request that was not sent since no more may be.
BUDGET = "budget"
_LONGEST_QUOTE = 500
# A server's complaint may be as long as a response.
_LONGEST_READ = 16_384
_QUOTA = "quota"
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error", "account_deactivated"})
# What OpenAI, Anthropic, Google and Amazon call mistakes that a second request would only repeat.
_LASTING_CODES = frozenset(
    {
        "accessdeniedexception",
        "authentication_error",
        "context_length_exceeded",
        "failed_precondition",
        "invalid_api_key",
        "invalid_argument",
        "invalid_request_error",
        "model_not_found",
        "not_found",
        "not_found_error",
        "permission_denied",
        "permission_error",
        "request_too_large",
        "resourcenotfoundexception",
        "unauthenticated",
        "validationexception",
    }
)
_WORTH_ANOTHER_TRY = frozenset({408, 409, 425, 429})
_KINDS = {
    400: "bad_request",
    401: "unauthorized",
    402: _QUOTA,
    403: "forbidden",
    404: "not_found",
    422: "bad_request",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
