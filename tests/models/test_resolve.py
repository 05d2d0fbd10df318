"""Finding the judge that a user means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError, MissingKeyError, UnknownNameError
from evenhand.domain.secret import Secret
from evenhand.models.client import HttpModel
from evenhand.models.providers import OLLAMA, OPENAI
from evenhand.models.replay import Scripted
from evenhand.models.resolve import resolve
from evenhand.registry import points


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in ("OPENAI", "OPENROUTER"):
        monkeypatch.setenv(f"{provider}_API_KEY", "sk-1")


def model_of(client: object) -> str:
    assert isinstance(client, HttpModel)
    return client.generation.model


@pytest.mark.parametrize(
    ("name", "known_as", "model"),
    [
        ("openai/gpt-5-mini", "openai/gpt-5-mini", "gpt-5-mini"),
        ("openai:gpt-5-mini", "openai/gpt-5-mini", "gpt-5-mini"),
        (" openai/gpt-5-mini ", "openai/gpt-5-mini", "gpt-5-mini"),
        ("ollama/qwen2.5:7b", "ollama/qwen2.5:7b", "qwen2.5:7b"),
        ("ollama:hf.co/bartowski/q:Q4", "ollama/hf.co/bartowski/q:Q4", "hf.co/bartowski/q:Q4"),
        ("openai-chat:gpt-5-mini", "openai/gpt-5-mini", "gpt-5-mini"),
        ("ollama_chat/qwen2.5:7b", "ollama/qwen2.5:7b", "qwen2.5:7b"),
        ("openrouter/meta-llama/llama-3:free", "openrouter/meta-llama/llama-3:free", "meta-llama/llama-3:free"),
    ],
)
def test_a_name_is_a_provider_and_the_rest(name: str, known_as: str, model: str) -> None:
    by_judge, by_model = resolve(name), resolve(model=name)

    assert by_judge == by_model
    assert (by_judge.name, model_of(by_judge)) == (known_as, model)


def test_a_client_is_itself() -> None:
    judge = Scripted([])

    assert resolve(judge) is judge


def test_a_mapping_has_a_model_and_settings() -> None:
    client = resolve({"model": "openai/gpt-5-mini", "temperature": 0, "api_key": "${OPENAI_API_KEY}"})

    assert client == OPENAI("gpt-5-mini", temperature=0, api_key=Secret("sk-1"))


def test_the_environment_may_name_the_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVENHAND_JUDGE", "ollama/qwen2.5:7b")

    assert resolve() == resolve(None) == OLLAMA("qwen2.5:7b")


@pytest.mark.parametrize("value", [None, "", "  "])
def test_without_any_judge_the_ways_to_name_one_are_told(value: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if value is not None:
        monkeypatch.setenv("EVENHAND_JUDGE", value)

    with pytest.raises(ValueError, match="no judge") as caught:
        resolve()

    assert isinstance(caught.value, ConfigError)
    for way in ("judge=", "model='openai/gpt-5-mini'", "EVENHAND_JUDGE=ollama/qwen2.5:7b"):
        assert way in str(caught.value)


def test_a_function_is_adapted() -> None:
    async def judge(messages: list[dict[str, str]]) -> str:
        return "Paris"

    assert resolve(judge).name == "function/judge"


PLUG = """
from evenhand import Scripted

def make(name, *, mood="calm"):
    return Scripted(["Paris"], name=f"plug/{name}/{mood}")
"""


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of somebody else's that brings a provider of models."""
    about = tmp_path / "plug-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[evenhand.models]\nplug = plug:make\n", encoding="utf-8")
    (tmp_path / "plug.py").write_text(PLUG, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    points.cache_clear()
    yield
    points.cache_clear()


@pytest.mark.usefixtures("plug")
def test_a_provider_of_another_package_is_found() -> None:
    assert resolve({"model": "plug/m", "mood": "stern"}).name == "plug/m/stern"


@pytest.mark.usefixtures("plug")
def test_what_such_a_provider_does_not_take_is_said() -> None:
    with pytest.raises(ConfigError, match=r"model 'plug/m': make\(\) got an unexpected keyword argument 'temperature'"):
        resolve({"model": "plug/m", "temperature": 0})


class Unaskable:
    """Something that no adapter knows."""


@pytest.mark.parametrize(
    ("given", "model", "kind", "complaint"),
    [
        ("openia/gpt-5-mini", None, UnknownNameError, "no model provider 'openia'; did you mean 'openai'?"),
        ("gpt-5-mini", None, ConfigError, "model 'gpt-5-mini' names no provider; write 'openai/gpt-5-mini'"),
        ("claude-x", None, ConfigError, "model 'claude-x' names no provider; write 'anthropic/claude-x'"),
        ("Gemini-x", None, ConfigError, "model 'Gemini-x' names no provider; write 'gemini/Gemini-x'"),
        ("o4-mini", None, ConfigError, "model 'o4-mini' names no provider; write 'openai/o4-mini'"),
        ("gpt-oss:20b", None, UnknownNameError, "no model provider 'gpt-oss'; known: "),
        ("google_genai:gemini-x", None, MissingKeyError, "gemini/gemini-x needs an API key: set GEMINI_API_KEY or GOOGLE_API_KEY"),
        ("google-gla:gemini-x", None, MissingKeyError, "gemini/gemini-x needs an API key"),
        ("azure_openai:ours", None, ConfigError, "azure/ours needs base_url; give it, or set AZURE_OPENAI_ENDPOINT"),
        ("mistralai:mistral-x", None, MissingKeyError, "mistral/mistral-x needs an API key: set MISTRAL_API_KEY"),
        ("together_ai/x/y", None, MissingKeyError, "together/x/y needs an API key"),
        ("bedrock:anthropic.claude-x", None, ConfigError, "bedrock/anthropic.claude-x needs region; give it, or set AWS_REGION or AWS_DEFAULT_REGION"),
        ({"model": "bedrock_converse:x", "region": "eu-west-1"}, None, MissingKeyError, "bedrock/x needs an API key: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give api_key"),
        ("google_anthropic_vertex:claude-x", None, UnknownNameError, "model 'google_anthropic_vertex:claude-x': Claude on Vertex AI is not supported by name; write anthropic/"),
        ("google_vertexai:gemini-x", None, MissingKeyError, "vertex/gemini-x needs an API key: set GOOGLE_CLOUD_PROJECT and GOOGLE_OAUTH_ACCESS_TOKEN"),
        ("", None, ConfigError, "model '' names no provider; write 'openai/gpt-5-mini'"),
        ("openai/", None, ConfigError, "model 'openai/' must be a provider and a name, such as 'openai/gpt-5-mini'"),
        ("/gpt", None, ConfigError, "model '/gpt' must be a provider and a name"),
        ("anthropic/claude", None, MissingKeyError, "anthropic/claude needs an API key: set ANTHROPIC_API_KEY"),
        ("openai/a", "openai/b", ConfigError, "judge is 'openai/a' and model is 'openai/b'; give one of them"),
        ({"model": "openai/a"}, "openai/b", ConfigError, "judge is an object of type dict and model is 'openai/b'; give one of them"),
        (Scripted([]), "openai/b", ConfigError, "judge is an object of type Scripted and model is 'openai/b'; give one of them"),
        ({"temperature": 0}, None, ConfigError, "a judge given as a mapping needs a 'model'"),
        ({"model": 5}, None, ConfigError, "a judge given as a mapping needs a 'model'"),
        ({"model": "openai/a", "temprature": 0}, None, ConfigError, "openai/a: no setting 'temprature'; did you mean"),
        ({"model": "openai/a", 5: 0}, None, ConfigError, "openai/a: no setting '5'"),
        (None, 5, ConfigError, "model must be a name, such as 'openai/gpt-5-mini', not int"),
        (Unaskable(), None, ConfigError, "judge is an object of type Unaskable; it must be a name such as 'openai/gpt-5-mini', a mapping"),
        (Scripted, None, ConfigError, "judge is the class Scripted; it must be a name"),
        (5, None, ConfigError, "judge is an object of type int; it must be a name"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_judge_is_refused_with_what_could(
    given: Any, model: Any, kind: type[Exception], complaint: str
) -> None:
    with pytest.raises(kind) as caught:
        resolve(given, model=model)

    assert str(caught.value).startswith(complaint)
