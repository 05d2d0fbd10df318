"""The table of providers is what the providers are."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from evenhand import resolve
from evenhand.models import providers
from evenhand.models.providers import Provider
from evenhand.models.resolve import OTHER_NAMES

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.split("## Providers\n")[1].split("\n## ")[0].splitlines() if line.startswith("| `")]
EXAMPLES = [row.split("|")[5].strip().strip("`") for row in ROWS]
PROVIDERS = [one for one in vars(providers).values() if isinstance(one, Provider)]


def row_of(provider: Provider, example: str) -> str:
    """Write a provider as the page has it."""
    keys = " or ".join(f"`{name}`" for name in provider.key_variables)
    cells = [
        f"`{provider.name}`",
        keys if provider.needs_key else f"none; {keys} if set",
        " or ".join(f"`{name}`" for name in provider.base_url_variables),
        f"`{provider.base_url}`" if provider.base_url else "must be given",
        f"`{example}`",
    ]
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def test_the_table_has_every_provider_as_it_is() -> None:
    assert [row_of(provider, example) for provider, example in zip(PROVIDERS, EXAMPLES, strict=True)] == ROWS


def test_the_names_that_other_libraries_have_are_listed() -> None:
    section = PAGE.split("## Names in other libraries\n")[1].split("\n## ")[0]

    for name, ours in OTHER_NAMES.items():
        assert re.search(rf"`{name}[/:]`.*`{ours}/`", section), name


def test_every_provider_can_be_named() -> None:
    assert {provider.name for provider in PROVIDERS} <= entry_points(group="evenhand.models").names


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_names_a_model(example: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "ours")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://models.example")
    for provider in PROVIDERS:
        monkeypatch.setenv(provider.key_variables[0], "sk-example")

    assert resolve(example).name == example
