"""Pages that run: what stands in their blocks, and a provider that stands for all of them.

A test that takes ``any_page`` runs once for each page; one that takes ``page_with_python`` or ``page_with_commands`` once
for each page that has such blocks. Exceptions stand in ``exceptions.toml``.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pytest

from evenhand.models import providers

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent
EXCEPTIONS: list[dict[str, str]] = tomllib.loads((HERE / "exceptions.toml").read_text("utf-8"))["not_run"]

_ABOUT_THIS_RUN = ("CI", "COLUMNS", "FORCE_COLOR", "NO_COLOR", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER")
_BLOCK = re.compile(r"^(?P<fence>```+)(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL)
_TITLE = re.compile(r'\btitle="([^"]+)"')
_EXIT = re.compile(r"#.*\bexit (\d+)\s*$")


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page: a file if it has a title."""

    line: int
    language: str
    title: str | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command on a page, the exit code that it is to have, and what it is to print, if the page shows that."""

    line: int
    text: str
    exit_code: int
    output: str


@dataclass(frozen=True)
class Page:
    """A page of the documentation, by its path from the root."""

    name: str

    @property
    def path(self) -> Path:
        """Where the page is."""
        return ROOT / self.name

    @cached_property
    def blocks(self) -> list[Block]:
        """All blocks, in their order."""
        text = self.path.read_text(encoding="utf-8")
        return [_block(found, line=text.count("\n", 0, found.start("text")) + 1) for found in _BLOCK.finditer(text)]

    @property
    def python(self) -> list[Block]:
        """The Python blocks that are run."""
        return [block for block in self._all_python if not self._excepts(block.text)]

    @property
    def commands(self) -> list[Command]:
        """The commands that are run."""
        return [step for step in self.steps if isinstance(step, Command)]

    @property
    def steps(self) -> list[Block | Command]:
        """What is done in page order: files are written, commands run."""
        return [step for step in self._all_steps if isinstance(step, Block) or not self._excepts(step.text)]

    def has(self, start: str) -> bool:
        """Tell whether a Python block or a command starts like this."""
        commands = [step.text for step in self._all_steps if isinstance(step, Command)]
        return any(text.startswith(start) for text in [*commands, *(block.text for block in self._all_python)])

    @property
    def _all_python(self) -> list[Block]:
        return [block for block in self.blocks if block.language == "python" and not block.title]

    @property
    def _all_steps(self) -> list[Block | Command]:
        found: list[Block | Command] = []
        for block in self.blocks:
            if block.title:
                found.append(block)
            elif block.language == "console":
                found += commands_in(block)
        return found

    def _excepts(self, text: str) -> bool:
        return any(one["page"] == self.name and text.startswith(one["starts_with"]) for one in EXCEPTIONS)

    def write_files(self, folder: Path) -> None:
        """Write the files of the page; of several with one name the first, as the others come later on the page."""
        for block in reversed(self.blocks):
            if block.title:
                write(folder / block.title, block.text)


def write(path: Path, text: str) -> None:
    """Write a file, with its folder; a script can be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    if text.startswith("#!"):
        path.chmod(0o755)


def commands_in(block: Block) -> list[Command]:
    """Take a console block apart: a command begins with ``$``, goes on after a ``\\``, and is followed by its output."""
    found: list[Command] = []
    lines = iter(enumerate(block.text.splitlines(), start=block.line))
    for number, line in lines:
        if line.startswith("$ "):
            text = line.removeprefix("$ ")
            while text.endswith("\\"):
                text += "\n" + next(lines)[1].removeprefix("> ")
            given = _EXIT.search(text)
            found.append(Command(line=number, text=text, exit_code=int(given[1]) if given else 0, output=""))
        elif found:
            found[-1] = replace(found[-1], output=f"{found[-1].output}{line}\n")
    return found


def _block(found: re.Match[str], *, line: int) -> Block:
    language, _, attributes = found["info"].strip().partition(" ")
    title = _TITLE.search(attributes)
    return Block(line=line, language=language, title=title[1] if title else None, text=found["text"])


PAGES = [
    Page(path.relative_to(ROOT).as_posix()) for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
]


# Their commands take longest, and journeys and examples have the same; `make test-long` runs these too.
WITH_MANY_COMMANDS = {
    f"docs/{name}.md"
    for name in (
        "audit", "batches", "ci", "coming-from-agentv", "coming-from-promptfoo", "command-line", "compare", "doctor", "drift",
        "export-results", "judge-card", "judges", "offline", "opentelemetry", "profiles", "prompts", "pytest", "ranking",
        "resuming", "server", "tune",
    )
}  # fmt: skip
LONG = (pytest.mark.long,)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test for each page that it is about."""
    wanted = {
        "any_page": PAGES,
        "page_with_python": [page for page in PAGES if page.python],
        "page_with_commands": [page for page in PAGES if page.commands],
    }
    for name, pages in wanted.items():
        if name in metafunc.fixturenames:
            is_long = name == "page_with_commands"
            marked = [
                pytest.param(page, marks=LONG if is_long and page.name in WITH_MANY_COMMANDS else ()) for page in pages
            ]
            metafunc.parametrize(name, marked, ids=[page.name for page in pages])


@pytest.fixture
def pages() -> list[Page]:
    """All pages."""
    return PAGES


@pytest.fixture
def page_of(tmp_path: Path) -> Callable[[str], Page]:
    """Make a page of a text."""

    def make(text: str) -> Page:
        path = tmp_path / "page.md"
        path.write_text(text, encoding="utf-8")
        return Page(str(path))

    return make


@pytest.fixture
def exceptions() -> list[dict[str, str]]:
    """What is not run, and why."""
    return EXCEPTIONS


@pytest.fixture(scope="session")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start the provider that stands for all, and give the variables that lead to it whatever a model is called."""
    folder = tmp_path_factory.mktemp("provider")
    program = [sys.executable, str(HERE / "provider.py"), str(folder)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        try:
            yield variables(url, folder / "authority.pem")
        finally:
            process.terminate()


def variables(url: str, authority: Path) -> dict[str, str]:
    """Lead models elsewhere through a proxy, those on this machine by their address, and give each a key."""
    found = {"HTTPS_PROXY": url, "HTTP_PROXY": url, "SSL_CERT_FILE": str(authority), "AWS_REGION": "eu-west-1"}
    for provider in vars(providers).values():
        if isinstance(provider, providers.Provider):
            found |= dict.fromkeys(provider.key_variables, "sk-example")
            if provider.base_url is None:
                found[provider.base_url_variables[0]] = "https://models.example"
            elif provider.base_url.startswith("http://127.0.0.1"):
                found[provider.base_url_variables[0]] = url
    return found


@pytest.fixture
def page_folder(
    tmp_path: Path, provider: dict[str, str], path_with_evenhand: str, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The folder in which a page's blocks run, in an environment where every model answers."""
    for name, value in provider.items():
        monkeypatch.setenv(name, value)
    for name in _ABOUT_THIS_RUN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "100")  # whatever the terminal of these tests has
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    # A command by its name is the one of the environment that runs the tests.
    monkeypatch.setenv("PATH", path_with_evenhand)
    monkeypatch.chdir(folder)
    return folder
