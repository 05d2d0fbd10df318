"""No command shows any part of the password to the database, whatever the URL looks like."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from evenhand.domain.errors import EvenhandError
from evenhand.engine.store_location import StoreLocation
from evenhand.store.location import location_of, without_password

# Of two parts, so that each of them alone would be seen: "canary1" and "canary2".
AT = "127.0.0.1:1/runs"
URLS = {
    "plain": f"postgresql://ann:canary1-canary2@{AT}",
    "with a slash": f"postgresql://ann:canary1/canary2@{AT}",
    "with an at": f"postgresql://ann:canary1@canary2@{AT}",
    "with ats": f"postgresql://ann:@canary1@@canary2@{AT}",
    "with a question mark": f"postgresql://ann:canary1?canary2@{AT}",
    "with a question mark and a setting": f"postgresql://ann:1?host=canary1@canary2@{AT}",
    "with a hash": f"postgresql://ann:canary1#canary2@{AT}",
    "with colons": f"postgresql://ann:canary1:canary2@{AT}",
    "with a percent sign": f"postgresql://ann:canary1%canary2@{AT}",
    "with a blank": f"postgresql://ann:canary1 canary2@{AT}",
    "with brackets": f"postgresql://ann:canary1[canary2]@{AT}",
    "with an ampersand": "postgresql://127.0.0.1:1/runs?user=ann&password=canary1&canary2",
    "encoded": f"postgresql://ann:{quote('canary1/canary2@', safe='')}@{AT}",
    "encoded in small letters": f"postgresql://ann:canary1%2fcanary2%40@{AT}",
    "with a slash in the name": f"postgresql://canary1/canary2:x@{AT}",
    "as a setting": f"postgresql://{AT}?password=canary1-canary2",
    "as a setting in other letters": f"postgresql://{AT}?p%61ssword=canary1-canary2",
    "as a setting with an at": f"postgresql://{AT}?password=canary1@canary2",
    "of a key": f"postgresql://{AT}?sslpassword=canary1-canary2",
    "in a file": f"postgresql://{AT}?passfile=/srv/canary1/canary2",
    "without a host": "postgresql://ann:canary1-canary2",
    "without a host, with a name": "postgresql://ann:canary1/canary2",
    "in a name": f"postgresql://{AT}?dbname=postgresql%3A%2F%2Fann%3Acanary1%40canary2",
    "of a server that is none of ours": "mysql://ann:canary1-canary2@127.0.0.1/runs",
    "as a connection string": "host=127.0.0.1 port=1 user=ann password=canary1-canary2",
    "as a connection string with quotes": "password = 'canary1 canary2' host=127.0.0.1 port=1",
    "old scheme": f"postgres://ann:canary1/canary2@{AT}",
}
# One of each way to write them, for every command; the rest reach a command by the same function.
SAMPLE = ("with a slash", "with an at", "as a setting with an at", "in a name", "as a connection string with quotes")
sample_and_all = pytest.mark.parametrize(
    "urls",
    [
        pytest.param({how: URLS[how] for how in SAMPLE}, id="sample"),
        pytest.param(URLS, id="all", marks=pytest.mark.long),
    ],
)
COMMANDS: dict[str, tuple[str, ...]] = {
    "config": ("config",),
    "config --json": ("config", "--json"),
    "run": ("run", "suite.yaml"),
    "resume": ("resume", "last"),
    "report": ("report", "last"),
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", "last"),
    "runs delete": ("runs", "delete", "last", "--yes"),
    "export": ("export", "last"),
    "import": ("import", "exported.jsonl"),
    "compare": ("compare", "last", "last"),
    "cache show": ("cache", "show"),
    "prompts list": ("prompts", "list"),
    "serve": ("serve", "--port", "0"),
}


@pytest.fixture
def exported(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    """A suite, and a run of it that was exported."""
    suite(1)
    assert command("run", "suite.yaml").code == 0
    assert command("export", "last", "-o", "exported.jsonl").code == 0


@pytest.mark.slow
@pytest.mark.usefixtures("exported")
@pytest.mark.parametrize("argv", COMMANDS.values(), ids=COMMANDS.keys())
@sample_and_all
def test_a_password_is_in_nothing_that_a_command_prints(
    command: Callable[..., Any],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    argv: tuple[str, ...],
    urls: dict[str, str],
) -> None:
    shown = {}
    for how, url in urls.items():
        monkeypatch.setenv("EVENHAND_DB", url)
        done = command(*argv, "-v")
        shown[how] = done.out + done.err
        assert argv[0] == "config" or done.code in (1, 2)

    assert [how for how, output in shown.items() if "canary" in output] == []
    assert not [path for path in folder.rglob("*") if "canary" in str(path)]


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["config", "runs"])
@sample_and_all
def test_nor_where_the_url_stands_in_a_file_or_was_typed(
    command: Callable[..., Any], folder: Path, verb: str, urls: dict[str, str]
) -> None:
    shown = {}
    for how, url in urls.items():
        (folder / "evenhand.toml").write_text(f"db = {json.dumps(url)}\n")
        by_file = command(*(("runs", "list") if verb == "runs" else ("config", "--json")))
        (folder / "evenhand.toml").unlink()
        typed = command("runs", "list", "--db", url)
        shown[how] = by_file.out + by_file.err + typed.out + typed.err

    assert [how for how, output in shown.items() if "canary" in output] == []


@pytest.mark.parametrize("url", URLS.values(), ids=URLS.keys())
def test_nor_in_what_python_raises_or_in_what_it_was_raised_from(url: str) -> None:
    with pytest.raises(EvenhandError) as caught, StoreLocation(url).opened():
        pass

    error: BaseException | None = caught.value
    while error is not None:
        assert "canary" not in str(error) + repr(error)
        error = error.__cause__ or error.__context__
    assert "canary" not in without_password(url)


def test_a_password_with_a_slash_is_told_how_to_be_written(command: Callable[..., Any]) -> None:
    done = command("runs", "list", "--db", URLS["with a slash"])

    assert done.code == 1
    assert (
        "cannot open postgresql://…: the URL cannot be read; write postgresql://user:password@host/database" in done.err
    )
    assert "%2F for /" in done.err


def test_what_is_certain_is_told(command: Callable[..., Any]) -> None:
    done = command("runs", "list", "--db", URLS["plain"])

    assert done.err.startswith("evenhand: cannot open postgresql://127.0.0.1:1/runs: connection")
    assert "refused" in done.err


def test_a_location_says_where_a_database_is() -> None:
    urls = ["postgresql:///evals?host=/run/pg&port=5433", "postgresql://h1:1,h2:2/x", "postgresql://me@[::1]/x"]

    locations = [location_of(url) for url in urls]

    assert [location and location.where for location in locations] == [
        "postgresql:///run/pg:5433/evals",
        "postgresql://h1:1,h2:2/x",
        "postgresql://[::1]/x",
    ]
