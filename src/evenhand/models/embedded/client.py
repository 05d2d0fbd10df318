"""An embedded model as a judge: ``embedded/qwen2.5-coder-1.5b`` or ``embedded/path/to/file.gguf``."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from evenhand.domain.ask import Ask
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.dialects.dialect import Generation, mapping, text_of
from evenhand.models.dialects.openai import OPENAI
from evenhand.models.embedded.catalogue import PREFIX, KnownModel, located
from evenhand.models.embedded.resources import Resources
from evenhand.models.embedded.runtime import (
    Completes,
    Load,
    ModelLostError,
    ModelUnusableError,
    require_runtime,
    runtime_elsewhere,
    runtime_of,
    usual_threads,
)
from evenhand.models.retry import RetryPolicy, TransportFault, ask_with_retries, quoted
from evenhand.models.settings import ModelSettings

LONGEST_TEXT: Final = 400
MOST_TEXTS: Final = 4


def bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return one of our own schemas with a limit on each text and list; the servers of others would refuse those.

    >>> bounded({"type": "array", "items": {"type": "string"}})
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 400}, 'maxItems': 4}
    """
    made = {key: _inner(value) for key, value in schema.items()}
    if made.get("type") == "string" and "enum" not in made:
        made["maxLength"] = LONGEST_TEXT
    elif made.get("type") == "array":
        # A list of findings has one for each id; any other is one of short texts.
        ids = _ids_in(made.get("items", {}))
        made |= {"minItems": len(ids), "maxItems": len(ids)} if ids else {"maxItems": MOST_TEXTS}
    return made


def _inner(value: object) -> Any:
    if isinstance(value, Mapping):
        return bounded(value)
    return [_inner(item) for item in value] if isinstance(value, list) else value


def _ids_in(items: Mapping[str, Any]) -> list[str]:
    kinds = items.get("anyOf", [items])
    return [key for kind in kinds for key in kind.get("properties", {}).get("id", {}).get("enum", ())]


CONTEXT: Final = 4096
# Small models that find no end write on and on; a judgment is shorter than this.
MAX_TOKENS: Final = 768
OWN_SETTINGS: Final = ("threads", "context", "resources")
_OF_SERVERS: Final = frozenset(
    {
        "base_url",
        "api_key",
        "api_version",
        "region",
        "project",
        "location",
        "headers",
        "connect_timeout",
        "first_byte_timeout",
        "max_transport_attempts",
        "backoff",
        "rpm",
        "tpm",
        "max_body_bytes",
        "ca_file",
        "proxy",
    }
)


def embedded(name: str, /, **settings: Any) -> EmbeddedModel:
    """Make an embedded model: by its name, or by the path of its file.

    Settings: ``temperature`` (0), ``top_p``, ``seed`` (0), ``max_tokens``, ``structured``, ``extra_body``, ``timeout``
    of one question, ``threads`` (all cores but one), ``context``, how many tokens prompt and reply may have, and
    ``resources``, what the model reserves on a cluster.
    """
    whole = f"{PREFIX}{name}"
    own = {key: settings.pop(key) for key in OWN_SETTINGS if settings.get(key) is not None}
    for key in settings:
        if key in _OF_SERVERS:
            raise ConfigError(f"{whole}: no setting {key!r}: an embedded model is not a server", key=key)
    checked = ModelSettings.of(settings, where=whole, lacks=_OF_SERVERS)
    given = own.pop("resources", None)
    resources = None if given is None else Resources.of(given, where=whole)
    for key, value in own.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise ConfigError(f"{whole}: {key} is {value!r}; it must be a whole number, 1 or more", key=key)
    require_runtime()
    path, known = located(name)
    generation = Generation(
        model=whole,
        temperature=0.0 if checked.temperature is None else checked.temperature,
        top_p=checked.top_p,
        seed=0 if checked.seed is None else checked.seed,
        max_tokens=MAX_TOKENS if checked.max_tokens is None else checked.max_tokens,
        structured=checked.structured or "json_schema",
        strict=False,
        extra_body=checked.extra_body,
    )
    return EmbeddedModel(
        name=whole,
        path=path,
        known=known,
        generation=generation,
        timeout=checked.timeout,
        threads=own.get("threads"),
        context=own.get("context", CONTEXT),
        resources=resources,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModel:
    """A model that runs in this process. It is loaded when it is first asked, once for all that name its file.

    On a cluster it runs in a process of its own, with the ``resources`` that it reserves there.
    """

    keeps_deadlines: ClassVar[bool] = True
    # A small model decides between yes and no far better than it writes.
    prefers_logprobs: ClassVar[bool] = True
    # The next question waits for this one anyway, and its time should not run while it does.
    at_once: ClassVar[int] = 1

    name: str
    path: Path
    known: KnownModel | None
    generation: Generation
    timeout: float
    threads: int | None
    context: int
    resources: Resources | None = None

    @property
    def load(self) -> Load:
        """What another process needs to know to run it."""
        return Load(name=self.name, threads=self.threads, context=self.context, resources=self.resources)

    @property
    def yes_from(self) -> float:
        """The P(yes) from which a yes counts, as measured on labelled answers."""
        return 0.5 if self.known is None else self.known.yes_from

    @property
    def pair_margin(self) -> float | None:
        """The mean log-odds from which one of two answers is the better one, where that was measured."""
        return None if self.known is None else self.known.pair_margin

    @property
    def identity(self) -> dict[str, Any]:
        """What decides on the replies: the file and how it is asked."""
        if self.known is not None:
            file: object = self.known.sha256
        else:
            status = self.path.stat()
            file = [str(self.path.absolute()), status.st_size, status.st_mtime_ns]
        made = replace(self.generation, model=self.name)
        return {
            "file": file,
            "sampling": made.sampling(),
            "max_tokens": made.max_tokens,
            "structured": made.structured,
            "extra_body": dict(made.extra_body),
        }

    @property
    def account(self) -> str:
        """Whose turn it is: every question to the file, however it is put."""
        return f"{PREFIX}{self.path.absolute()}"

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        """Ask the model; what fails once would fail again, so only a process that died is asked twice."""
        runtime = runtime_elsewhere(self.load) or runtime_of(
            self.path.absolute(), threads=self.threads or usual_threads(), context=self.context
        )
        return await ask_with_retries(
            lambda seconds: self._ask_once(runtime, ask, seconds),
            policy=RetryPolicy(),
            deadline=deadline,
            allowance=ask.allowance,
            sent_once=ask.sent_once,
        )

    async def _ask_once(self, runtime: Completes, ask: Ask, seconds: float) -> Reply:
        loop = asyncio.get_running_loop()
        latest = math.inf if math.isinf(seconds) else loop.time() + seconds
        began = loop.time()

        def its_turn() -> None:
            # Only now does its own time run: before, it was that of the questions before it.
            nonlocal began
            began = loop.time()
            with contextlib.suppress(RuntimeError):  # it has expired, or whoever asked is gone
                limit.reschedule(min(latest, began + self.timeout))

        try:
            async with asyncio.timeout_at(None if math.isinf(latest) else latest) as limit:
                body = await runtime.complete(self._request(ask), begun=its_turn)
        except TimeoutError:
            waited = loop.time() - began
            raise TransportFault("timeout", f"no reply within {waited:.0f} seconds", retryable=False) from None
        except ModelLostError as error:
            raise TransportFault("connection", f"{self.name}: {error}", retryable=True) from None
        except ModelUnusableError as error:
            raise TransportFault("not_found", str(error), retryable=False) from None
        except (RuntimeError, ValueError) as error:
            raise TransportFault("bad_request", quoted(str(error)), retryable=False) from None
        if too_long := self._too_long(body):
            raise too_long
        decoded = OPENAI.decode(body)
        return Reply.said(
            storable(decoded.text),
            finish=decoded.finish,
            usage=decoded.usage,
            latency=loop.time() - began,
            first_token=decoded.first_token,
        )

    def _request(self, ask: Ask) -> dict[str, Any]:
        request = OPENAI.encode(ask, self.generation)
        form = request.get("response_format", {}).get("json_schema")
        if form is not None and ask.contract is not None and ask.contract.closed:
            form["schema"] = bounded(form["schema"])
        return request

    def _too_long(self, body: object) -> TransportFault | None:
        error = mapping(mapping(body).get("error"))
        if text_of(error.get("type")) != "exceed_context_size_error":
            return None
        return TransportFault(
            "too_long",
            f"the prompt has {error.get('n_prompt_tokens')} tokens, and {self.name} was given a context of "
            f"{error.get('n_ctx')}; set context to more, or shorten what is judged",
            retryable=False,
        )
