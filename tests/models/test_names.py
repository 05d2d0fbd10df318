"""How models are named, here and elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand import Case, PromptEvaluator, evaluate, resolve
from evenhand.models.prices import price_of
from evenhand.models.resolve import MAKERS, NOT_HERE, OTHER_NAMES, carried_over, normal_name, provider_of
from evenhand.registry import MODELS, points
from evenhand.suites.definition_diff import judging_differences

PLUG = """
from evenhand import Scripted

def make(name):
    return Scripted(["Paris"], name=f"google_anthropic_vertex/{name}")
"""


def test_every_name_leads_to_a_provider_that_there_is() -> None:
    assert {*OTHER_NAMES.values(), *MAKERS.values()} <= points(MODELS).keys()
    assert points(MODELS).keys().isdisjoint({*OTHER_NAMES, *NOT_HERE})


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("google_genai:gemini-2.5-flash", "gemini/gemini-2.5-flash"),
        ("azure_openai:ours", "azure/ours"),
        (" mistralai/mistral-small-latest", "mistral/mistral-small-latest"),
        ("ollama:qwen2.5:7b", "ollama/qwen2.5:7b"),
        ("bedrock:us.anthropic.claude-x-v1:0", "bedrock/us.anthropic.claude-x-v1:0"),
        ("bedrock_converse:amazon.nova-lite-v1:0", "bedrock/amazon.nova-lite-v1:0"),
        ("google_vertexai:gemini-x", "vertex/gemini-x"),
        ("vertex_ai/gemini-x", "vertex/gemini-x"),
        ("somebodys:model", "somebodys/model"),
        ("gpt-5-mini", "gpt-5-mini"),
    ],
)
def test_a_name_has_one_form(name: str, normal: str) -> None:
    assert normal_name(name) == normal
    assert provider_of(name) == normal.partition("/")[0]


def test_a_registered_provider_of_such_a_name_is_the_one_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "plug-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(
        "[evenhand.models]\ngoogle_anthropic_vertex = plug_names:make\n", encoding="utf-8"
    )
    (tmp_path / "plug_names.py").write_text(PLUG, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    points.cache_clear()

    try:
        assert resolve("google_anthropic_vertex:claude").name == "google_anthropic_vertex/claude"
    finally:
        points.cache_clear()


def test_prices_go_by_the_provider_that_is_meant() -> None:
    assert price_of("google_genai:gemini-2.5-flash") == price_of("gemini/gemini-2.5-flash") is not None


def test_the_settings_of_a_model_stay_with_another_name_of_its_provider() -> None:
    settings = {"model": "openai/gpt-5", "base_url": "http://127.0.0.1:1"}

    assert carried_over(settings, "openai-chat:gpt-5-mini") == ({**settings, "model": "openai-chat:gpt-5-mini"}, [])


def test_runs_by_the_same_judge_are_compared_however_it_was_written() -> None:
    assert judging_differences({"judge": "google_genai:g"}, {"judge": {"model": "gemini/g"}}) == []
    assert judging_differences({"judge": "openai:g"}, {"judge": "openai/g"}) == []


def test_a_run_records_the_resolved_name() -> None:
    case = Case(id="a", candidate_answer="x", expected_outcome="y")
    client = resolve({"model": "ollama_chat:m", "base_url": "http://127.0.0.1:9", "max_transport_attempts": 1})

    run = evaluate(case, PromptEvaluator(judge=client), store=None, outage_timeout=0)

    (result,) = run
    assert result.judgments[0].evaluation.details["judge"] == "ollama/m"
