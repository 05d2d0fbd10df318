"""A key that another library's object holds is in nothing that the object says."""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, PrivateAttr, SecretStr

from evenhand.domain.reply import Reply, Unanswered
from evenhand.drive.held_keys import keys_of

Adapted = Callable[..., Any]
Put = Callable[..., Reply | Unanswered]

KEY = "tk-canary/0123456789-abcdef"


class Client:
    """Holds a key as clients do, and repeats it."""

    def __init__(self, key: str) -> None:
        self.api_key = key

    def speak(self, messages: object) -> str:
        raise ValueError(f"401: {self.api_key} is wrong")


class Wrapping(BaseModel):
    """Holds a client, and a key in private."""

    model_config = {"arbitrary_types_allowed": True}
    openai_api_key: SecretStr | None = None
    client: Any = None
    _token: str = PrivateAttr(default="")


def with_private(key: str) -> Wrapping:
    made = Wrapping()
    made._token = key
    return made


def closing_over(token: str) -> Callable[[object], str]:
    def judge(messages: object) -> str:
        return f'{{"score": 1, "reasoning": "{token}"}}'

    return judge


class Endless:
    """Holds itself, and a great deal else."""

    def __init__(self) -> None:
        self.others = [self, [object() for _ in range(100_000)]]

    @property
    def api_key(self) -> str:
        raise AssertionError("no code of others is run")


HOLDERS: dict[str, object] = {
    "a client": Client(KEY),
    "a method of a client": Client(KEY).speak,
    "a partial function": functools.partial(print, api_key=KEY),
    "a closure": closing_over(KEY),
    "a SecretStr": Wrapping(openai_api_key=SecretStr(KEY)),
    "a client within": Wrapping(client={"inner": [Client(KEY)]}),
    "a private attribute": with_private(KEY),
    "a header": Wrapping(client={"default_headers": {"Authorization": f"Bearer {KEY}"}}),
}


@pytest.mark.parametrize("given", HOLDERS.values(), ids=HOLDERS.keys())
def test_a_key_is_found_wherever_an_object_holds_it(given: object) -> None:
    assert KEY in [secret.reveal() for secret in keys_of(given)]


def test_looking_for_keys_runs_no_code_and_comes_to_an_end() -> None:
    assert KEY not in [secret.reveal() for secret in keys_of(Endless())]


@pytest.mark.parametrize(
    "spelt",
    [KEY, KEY.replace("-", "%2d"), KEY.replace("/", "\\/"), base64.b64encode(f"Bearer {KEY}".encode()).decode()],
)
@pytest.mark.parametrize("raised", [True, False], ids=["raised", "said"])
def test_a_key_of_the_environment_is_hidden_in_what_a_function_says(
    adapted: Adapted, put: Put, monkeypatch: pytest.MonkeyPatch, spelt: str, raised: bool
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)

    def judge(messages: object) -> str:
        if raised:
            raise RuntimeError(f"Incorrect API key provided: {spelt}")
        return f'{{"score": 1, "reasoning": "it was {spelt}"}}'

    answer = put(adapted(judge))

    assert "***" in repr(answer)
    assert spelt not in repr(answer)
    assert repr(spelt)[1:-1] not in repr(answer)


def test_a_method_of_a_client_repeats_no_key_and_half_of_none_where_it_is_cut(adapted: Adapted, put: Put) -> None:
    class Cutting(Client):
        def speak(self, messages: object) -> str:
            raise ValueError(f"wrong key: {self.api_key[:-3]}")

    answers = [put(adapted(kind(KEY).speak)) for kind in (Client, Cutting)]

    assert [str(getattr(answer, "error", None)).partition(" (at speak in ")[0] for answer in answers] == [
        "function_error: ValueError: 401: *** is wrong",
        "function_error: ValueError: wrong key: ***",
    ]
