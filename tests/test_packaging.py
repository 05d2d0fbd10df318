"""The wheel: built from this tree, installed into an empty environment with what it needs, and used there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from evenhand.doctor.pairs import TASKS
from evenhand.server.documentation import Documentation, documentation
from evenhand.version import __version__

ROOT = Path(__file__).resolve().parents[1]
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
FOR_EXTRAS = {"langchain-core", "openai", "pandas", "psycopg", "pyarrow", "pydantic-ai-slim", "sqlalchemy"}

# One group, so that parallel workers do not each build and install.
pytestmark = [pytest.mark.long, pytest.mark.timeout(600), pytest.mark.group("packaging")]


def run(*argv: str | Path, cwd: Path, **variables: str) -> str:
    environment = os.environ | variables
    done = subprocess.run(argv, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# The fixtures are the module's, and so come before the rule that takes proxies out of a test's environment: pip needs
# whatever settings it has on this machine.


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from that, with what they say they need: fetched once, beside the environment."""
    folder, tools = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("tools")
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    run(*PIP, "install", "--no-compile", "--target", tools, *needs, cwd=folder)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, cwd=ROOT, PYTHONPATH=str(tools))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel into an empty environment and give the folder of its programs."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(
        *PIP,
        "--python",
        programs / "python",
        "install",
        "--no-compile",
        "-c",
        ROOT / "constraints.txt",
        wheel,
        cwd=folder,
    )
    return programs


def test_the_wheel_has_all_that_an_installation_needs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (entry_points,) = (archive.read(name).decode() for name in names if name.endswith("/entry_points.txt"))

    data = {
        "py.typed", "reports/assets/report.css", "reports/assets/report.js", "store/migrations/0001_runs.sql",
        "suites/suite.schema.json", *(f"doctor/pairs/{task}.jsonl" for task in TASKS),
    }  # fmt: skip
    assert {f"evenhand/{name}" for name in data} <= names
    assert {"evenhand/__init__.py", f"evenhand-{__version__}.dist-info/licenses/LICENSE"} <= names
    assert all(name.startswith(("evenhand/", f"evenhand-{__version__}.dist-info/")) for name in names)
    assert "[evenhand.evaluators]" in entry_points
    assert "[evenhand.models]" in entry_points
    assert "evenhand = evenhand.cli:main" in entry_points


def test_the_wheel_has_the_documentation_that_the_server_shows(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        found = Documentation(zipfile.Path(archive, "evenhand/documentation/"))
        names = [name for name in archive.namelist() if re.match("evenhand/documentation/.*[^/]$", name)]
        first = found.page("index")
        picture = found.picture("pictures/run-dark.png")

    assert set(found.pages) == set(documentation().pages)
    assert first is not None
    assert first.title == "Evenhand"
    assert picture is not None
    assert {Path(name).suffix for name in names} == {".md", ".png", ".svg"}


def test_it_brings_nothing_that_only_extras_need(programs: Path, tmp_path: Path) -> None:
    listed = json.loads(run(*PIP, "--python", programs / "python", "list", "--format", "json", cwd=tmp_path))

    assert not FOR_EXTRAS & {package["name"].lower() for package in listed}


@pytest.mark.parametrize("program", [["evenhand"], ["python", "-m", "evenhand"]], ids=["command", "module"])
def test_the_installed_command_runs(programs: Path, tmp_path: Path, program: list[str]) -> None:
    said = run(programs / program[0], *program[1:], "--version", cwd=tmp_path)

    assert said == f"evenhand {__version__}\n"


def test_the_first_example_of_the_readme_runs_where_it_is_installed(programs: Path, tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", readme, re.DOTALL)
    assert example
    # Typer brings pydantic; judging needs it no more than the other heavy ones.
    epilogue = "import sys; assert 'pydantic' not in sys.modules"

    said = run(programs / "python", "-W", "error", "-c", f"{example[1]}\n{epilogue}", cwd=tmp_path)

    assert said.startswith("1.0 1")
