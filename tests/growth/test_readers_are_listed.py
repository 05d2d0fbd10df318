"""What takes text apart is measured, or has a reason why not: a new reader cannot be forgotten."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.growth.test_growth import GROUPS
from tests.source import PACKAGE, modules, nodes_of

pytestmark = pytest.mark.group("source")

PROGRAM = Path(__file__).with_name("hostile_readers.py")

# What takes a text apart: patterns, parsers, decoders.
TAKING_APART = frozenset(
    {
        "compile", "match", "search", "fullmatch", "finditer", "findall", "sub", "subn",
        "loads", "load", "raw_decode", "JSONDecoder", "parse_strict", "first_value", "parse_line",
        "reader", "DictReader", "parse", "scan",
        "urlsplit", "unquote", "b64decode", "decompress", "feed_data",
    }
)  # fmt: skip

# Modules that take something apart, and are not measured.
OTHERS = {
    "store/shared_texts.py": "decodes texts in JSON of our own",
    "models/client.py": "takes the address of its own endpoint apart, which was read before",
    "models/batches/server.py": "hands each line of the results to orjson, once",
    "store/batches.py": "reads answers from batches, which are JSON of our own, behind a checksum",
    "models/rate_limit.py": "reads headers of at most forty characters",
    "api/exports.py": "looks for a password in one address",
    "cli/telemetry.py": "takes an address from the environment apart once",
    "cli/groups.py": "loads the module of a command",
    "cli/demonstration/brief.py": "reads a file of the package",
    "cli/commands/prompt_files.py": "hands a file to parse_strict",
    "doctor/pairs.py": "reads files of the package",
    "domain/early_decision.py": "reads an option of a run, which is JSON of our own or was parsed before",
    "engine/judge_card.py": "reads what it has written into the store, behind a checksum",
    "engine/overview.py": "reads what it has written into the store, behind a checksum",
    "engine/programs.py": "parses the user's own programs, each file once",
    "engine/targets/output.py": "reads JSON that it has just written",
    "engine/targets/model.py": "copies a schema that was read before",
    "engine/case_scores.py": "reads stored cases, which are JSON of our own",
    "engine/comparison.py": "reads stored cases, which are JSON of our own",
    "engine/stored_survey.py": "reads stored cases and evaluations, which are JSON of our own",
    "engine/target_comparison.py": "reads stored cases, which are JSON of our own",
    "evaluators/json_factory.py": "hands values to parse_strict",
    "evaluators/schema/worker.py": "reads what its parent process has written",
    "convert/recorded_results.py": "tries a recorded prompt as JSON once, and looks at names of settings",
    "drive/held_keys.py": "looks at names of attributes",
    "reports/terminal_case.py": "reads JSON that it has just written",
    "profiles/audit/artifacts.py": "reads files that it has written",
    "profiles/ranking/entrants.py": "reads stored cases, which are JSON of our own",
    "suites/cascade_confidence.py": "hands a file to parse_strict",
    "registry.py": "loads entry points",
    "suites/drift.py": "hands the file of a judge card to orjson, once",
    "suites/suite_edit.py": "reads a suite that was read before, when it was run",
    "server/api/case_import.py": "hands a table to read_cases",
    "server/api/openapi.py": "shows docstrings of the package",
    "server/form_data.py": "hands a form to the parsers of the framework",
    "server/markdown.py": "renders pages of the package",
    "server/pages/documentation.py": "looks for words in headings of the package",
    "server/pages/labels.py": "decodes the name in a cookie",
    "server/pages/transfer.py": "hands a form to parse_strict",
    "server/runs/requests.py": "loads entry points",
    "store/postgres.py": "decodes parts of a location that was read before",
    "store/replies.py": "reads stored evaluations, which are JSON of our own",
    "store/case_reader.py": "reads stored cases, which are JSON of our own",
    "store/kept_listing.py": "reads names of evaluators, which are JSON of our own",
    "store/list_totals.py": "reads counts of our own, of which there is a bounded number",
    "store/labels.py": "reads stored labels, which are JSON of our own",
    "store/listed_metadata.py": "reads stored cases, which are JSON of our own",
    "store/listed_texts.py": "reads stored rows, which are JSON of our own",
    "store/listed_words.py": "divides a text at its separators, once, and reads bytes of our own",
    "store/listed_rows.py": "reads stored answers and evaluations, which are JSON of our own",
    "store/results.py": "reads stored evaluations, which are JSON of our own",
    "store/runs.py": "reads stored runs, which are JSON of our own",
    "store/store.py": "reads stored evaluations, which are JSON of our own",
    "store/text_search.py": "reads stored rows, which are JSON of our own",
    "store/verification.py": "reads stored rows, which are JSON of our own",
}


@pytest.fixture(scope="module")
def listed() -> dict[str, dict[str, list[str]]]:
    """Ask the program for its groups, and for the modules that their readers cover."""
    done = subprocess.run([sys.executable, str(PROGRAM), "--list"], capture_output=True, text=True, check=True)
    groups: dict[str, dict[str, list[str]]] = json.loads(done.stdout)
    return groups


def test_the_groups_are_those_of_the_program(listed: dict[str, dict[str, list[str]]]) -> None:
    assert tuple(listed) == GROUPS


def test_whatever_takes_text_apart_is_measured_or_says_why_not(listed: dict[str, dict[str, list[str]]]) -> None:
    measured = {module for group in listed.values() for modules in group.values() for module in modules}

    found = set(modules_that_take_apart())

    assert sorted(found - measured - OTHERS.keys()) == [], "add a reader to hostile_readers.py, or a reason here"
    assert sorted(OTHERS.keys() - found) == [], "these take nothing apart any more"
    assert sorted(OTHERS.keys() & measured) == [], "these are measured"
    assert [module for module in sorted(measured) if not (PACKAGE / module).exists()] == []


def modules_that_take_apart() -> Iterator[str]:
    for path in modules():
        if any(name in TAKING_APART for name in called_in(path)):
            yield path.relative_to(PACKAGE).as_posix()


def called_in(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) | ast.Call(func=ast.Name(id=name)):
                yield name
