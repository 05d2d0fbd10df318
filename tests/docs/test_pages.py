"""The pages keep to the form in which their blocks can be run."""

from __future__ import annotations

from typing import Any

SHELLS = {"sh", "bash", "shell", "zsh"}


def test_commands_stand_in_console_blocks(any_page: Any) -> None:
    page = any_page
    elsewhere = [
        f"{page.name}:{block.line}: commands belong into ```console, each after `$ `; files need a title"
        for block in page.blocks
        if not block.title
        and (
            block.language in SHELLS
            or (block.language != "console" and any(line.startswith("$ ") for line in block.text.splitlines()))
            or (block.language == "console" and not block.text.startswith("$ "))
        )
    ]

    assert not elsewhere, "\n".join(["", *elsewhere])


def test_every_exception_is_about_something_that_is_there(pages: list[Any], exceptions: list[dict[str, str]]) -> None:
    named = {page.name: page for page in pages}

    idle = [one for one in exceptions if one["page"] not in named or not named[one["page"]].has(one["starts_with"])]

    assert idle == []
    assert all(one["reason"] for one in exceptions)
