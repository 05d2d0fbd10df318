"""Which object is adapted by what."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from pydantic_ai.models.test import TestModel

from evenhand.domain.ask import ModelClient
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.adapters.adapt import adapt
from evenhand.models.replay import Scripted

Put = Callable[..., Reply | Unanswered]


class Legacy:
    """Has the old way to be asked, and a modern face that a test may set."""

    def __init__(self, face: object) -> None:
        self._face = face

    def as_language_model(self) -> object:
        if isinstance(self._face, Exception):
            raise self._face
        return self if self._face == "itself" else self._face

    def invoke(self, messages: list[dict[str, str]]) -> str:
        return "by invoke"


def test_importing_the_adapters_loads_none_of_the_libraries_they_adapt() -> None:
    program = (
        "import sys, evenhand.models.adapters.adapt\n"
        "print(sorted({'langchain_core', 'openai', 'pydantic_ai', 'pydantic', 'httptools'} & set(sys.modules)))"
    )

    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert finished.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "given", ["gpt-4o", 3, None, object(), ["a"], {"model": "x"}, SimpleNamespace(), Legacy, FakeListChatModel]
)
def test_what_cannot_be_asked_is_not_adapted(given: object) -> None:
    assert adapt(given) is None


def test_an_adapter_shows_what_it_is() -> None:
    assert repr(adapt(FakeListChatModel(responses=[]))) == "LangChainModel('langchain/FakeListChatModel')"


def test_a_model_client_is_itself() -> None:
    judge = Scripted(["yes"])

    assert adapt(judge) is judge


@pytest.mark.parametrize(
    ("face", "text"),
    [
        (lambda messages: "by a function", "by a function"),
        (FakeListChatModel(responses=["by LangChain"]), "by LangChain"),
        (TestModel(custom_output_text="by pydantic-ai"), "by pydantic-ai"),
        (Scripted(["by a client"]), "by a client"),
    ],
)
def test_the_modern_face_is_preferred(face: object, text: str, adapted: Callable[..., ModelClient], put: Put) -> None:
    answer = put(adapted(Legacy(face)))

    assert isinstance(answer, Reply)
    assert answer.text == text


@pytest.mark.parametrize("face", [None, object(), "a name", NotImplementedError("not here"), "itself"])
def test_without_a_usable_modern_face_the_object_itself_is_invoked(
    face: object, adapted: Callable[..., ModelClient], put: Put
) -> None:
    answer = put(adapted(Legacy(face)))

    assert isinstance(answer, Reply)
    assert answer.text == "by invoke"


def test_an_object_whose_attributes_cannot_be_looked_up_is_taken_for_what_its_class_says(
    adapted: Callable[..., ModelClient], put: Put
) -> None:
    model: Any = FakeListChatModel(responses=["first"]).with_fallbacks([FakeListChatModel(responses=["second"])])

    answer = put(adapted(model))

    assert isinstance(answer, Reply)
    assert answer.text == "first"
