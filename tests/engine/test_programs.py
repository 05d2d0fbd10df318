"""Fingerprints of programs and functions: what counts as their source, and what does not."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand import BaseEvaluator, Case, CodeJudgeEvaluator, Contains, PromptEvaluator
from evenhand.domain.ask import Steps
from evenhand.domain.evaluation import Evaluation
from evenhand.engine.job import Job
from evenhand.engine.programs import ProgramFingerprints, ProgramSurvey
from evenhand.engine.targets.function import FunctionTarget
from evenhand.suites.python_evaluators import Panel


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with a package that imports in all ways, and a module beside it."""
    files = {
        "shop/__init__.py": "RATE = 1",
        "shop/app.py": (
            "from . import texts\nfrom .deep.words import GREETING\nimport prices\nimport json\n"
            "def answer(text):\n    return GREETING + texts.END\n"
        ),
        "shop/texts.py": "END = '.'",
        "shop/deep/__init__.py": "",
        "shop/deep/words.py": "GREETING = 'Hello'",
        "shop/unused.py": "A = 1",
        "prices.py": "import shop.app\nPRICE = 3",
    }
    for name, source in files.items():
        path = tmp_path / "one" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    before = set(sys.modules)
    yield tmp_path / "one"
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {"shop", "prices"}:
            del sys.modules[name]


def fingerprint_of(folder: Path, target: object = None) -> str | None:
    for name in [name for name in sys.modules if name.partition(".")[0] in {"shop", "prices"}]:
        del sys.modules[name]
    importlib.invalidate_caches()
    made = target or FunctionTarget.of({"python": "shop.app:answer"}, folder=str(folder))
    (found,) = survey(folder, made).target.values()
    return found


def survey(folder: Path, target: object = None, *evaluators: Any) -> ProgramFingerprints:
    job = Job(
        name="",
        definition={},
        cases=tuple,
        evaluators_for=lambda _: (),
        target=target,  # type: ignore[arg-type]
        source=str(folder / "suite.yaml"),
    )
    found = ProgramSurvey.of(job)
    found.add(Panel(list(evaluators))._usual)
    return found.fingerprints


@pytest.mark.parametrize(
    "name",
    ["shop/__init__.py", "shop/app.py", "shop/texts.py", "shop/deep/__init__.py", "shop/deep/words.py", "prices.py"],
)
def test_every_file_that_a_function_imports_counts(folder: Path, name: str) -> None:
    before = fingerprint_of(folder)
    with (folder / name).open("a") as file:
        file.write("\nMORE = 2\n")

    assert before is not None
    assert fingerprint_of(folder) not in (before, None)


def test_a_file_that_nobody_imports_does_not_count(folder: Path) -> None:
    before = fingerprint_of(folder)
    (folder / "shop" / "unused.py").write_text("A = 2")

    assert fingerprint_of(folder) == before


def test_comments_and_layout_do_not_count(folder: Path) -> None:
    before = fingerprint_of(folder)
    (folder / "shop" / "texts.py").write_text("# The end.\n\nEND = (\n    '.'\n)\n")

    assert fingerprint_of(folder) == before


def test_another_checkout_of_the_same_source_is_the_same(folder: Path) -> None:
    before = fingerprint_of(folder)
    moved = shutil.copytree(folder, folder.parent / "two")
    shutil.rmtree(folder)

    assert fingerprint_of(moved) == before


def test_a_script_of_another_language_counts_byte_by_byte(folder: Path) -> None:
    (folder / "judge.sh").write_text("echo 1\n")
    judge = CodeJudgeEvaluator(name="judge", command=["sh", "judge.sh"], cwd=folder)
    before = survey(folder, None, judge)
    (folder / "judge.sh").write_text("echo 1 \n")

    assert survey(folder, None, judge).changed_since(before).evaluators == {"judge": ["sh judge.sh"]}


def test_a_module_that_python_runs_counts(folder: Path) -> None:
    judge = CodeJudgeEvaluator(name="judge", command=["python3", "-m", "shop.app"], cwd=folder)
    before = survey(folder, None, judge)
    (folder / "shop" / "texts.py").write_text("END = '!'")

    assert survey(folder, None, judge).changed_since(before).evaluators == {"judge": ["python3 -m shop.app"]}


def test_what_was_compiled_is_unknown_and_never_said_to_have_changed(folder: Path) -> None:
    before = survey(folder, FunctionTarget.around(len))

    assert before.unknown == ["builtins:len"]
    assert not list(before.changed_since(before).words())


class Own(BaseEvaluator):
    """An evaluator of a user's."""

    type = "own"

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield from ()
        return self.scored(float(bool(case.candidate_answer)))


def judge(case: Case) -> bool:
    return bool(case.candidate_answer)


def test_functions_and_classes_that_judge_are_programs_too() -> None:
    found = survey(Path(__file__).parent, None, judge, Own(name="own"))

    assert {name: list(found_of) for name, found_of in found.evaluators.items()} == {
        "judge": [f"{__name__}:judge"],
        "own": [f"{__name__}:Own"],
    }
    assert not found.unknown


def test_what_evenhand_brings_is_no_program(folder: Path) -> None:
    found = survey(folder, None, Contains(value="a"), PromptEvaluator(judge="embedded", prompt="faithfulness"))

    assert not found
