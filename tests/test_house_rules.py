"""Rules of the house that a reader cannot be expected to check by eye."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from tests.source import PACKAGE, modules, nodes_of

import evenhand

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(PACKAGE.rglob("*.py"))

pytestmark = pytest.mark.group("source")


# Public names

PUBLIC_NAMES = [
    "AddedLabels",
    "Agreement",
    "Ask",
    "Attempt",
    "Audit",
    "BaseEvaluator",
    "Bleu",
    "Call",
    "Cascade",
    "Case",
    "CaseResult",
    "CaseScore",
    "Check",
    "Chrf",
    "CodeJudgeEvaluator",
    "Comparison",
    "CompositeEvaluator",
    "ConfigError",
    "Contains",
    "Contract",
    "CorrectedNumbers",
    "Cost",
    "Draw",
    "DriftReport",
    "EndsWith",
    "Equals",
    "Evaluation",
    "Evaluator",
    "EvaluatorResult",
    "EvenhandError",
    "Exec",
    "ExportedRun",
    "FewShotExample",
    "FieldAccuracy",
    "GatesFailed",
    "GroupRankingEvaluator",
    "IContains",
    "IsJson",
    "JsonMatch",
    "JudgeCard",
    "JudgeError",
    "JudgeExamination",
    "JudgesComparison",
    "Label",
    "Latency",
    "Levenshtein",
    "Message",
    "MissingKeyError",
    "MissingModelError",
    "ModelClient",
    "ModelFetchError",
    "Numeric",
    "PairwiseEvaluator",
    "PositionTable",
    "Profile",
    "ProfileScore",
    "ProfileScoreEvaluator",
    "PromptEvaluator",
    "RankedProfile",
    "RankedProfiles",
    "Regex",
    "Reply",
    "Rouge",
    "Rubric",
    "Run",
    "RunStoppedError",
    "SchemaEvaluator",
    "ScoredProfiles",
    "ScriptExhaustedError",
    "Scripted",
    "Secret",
    "StartsWith",
    "Status",
    "Steps",
    "Summary",
    "TemplateError",
    "Thresholds",
    "TokenChoice",
    "TokenF1",
    "Tuning",
    "Unanswered",
    "UnknownNameError",
    "Usage",
    "Verdict",
    "Weighed",
    "WinRate",
    "__version__",
    "add_labels",
    "aevaluate",
    "agreement",
    "audit",
    "benjamini_hochberg",
    "case_score",
    "compare",
    "compare_judges",
    "create_async_json_match_evaluator",
    "create_async_llm_as_judge",
    "create_json_match_evaluator",
    "create_llm_as_judge",
    "draw_labels",
    "drift",
    "evaluate",
    "evaluate_profiles",
    "examine_judge",
    "export_results",
    "holm",
    "import_results",
    "jury",
    "position_table",
    "rank",
    "resolve",
    "score",
    "tune",
    "win_rate",
]

# Neither an alias nor a text can have a docstring.
WITHOUT_DOCSTRING = {"Steps", "__version__"}


def test_the_public_names_are_these() -> None:
    assert sorted(evenhand.__all__) == PUBLIC_NAMES
    assert [name for name in PUBLIC_NAMES if not hasattr(evenhand, name)] == []


@pytest.mark.parametrize("name", sorted({*PUBLIC_NAMES} - WITHOUT_DOCSTRING))
def test_a_public_name_explains_itself(name: str) -> None:
    thing = getattr(evenhand, name)
    # Of a class, its own: neither a base's nor the signature that a dataclass is given in place of one.
    said = vars(thing)["__doc__"] if isinstance(thing, type) else thing.__doc__

    assert said
    assert not said.startswith(f"{name}(")


# Importing

IMPORTING = """
import sys, threading
sockets = []
sys.addaudithook(lambda event, args: sockets.append(args) if event == "socket.__new__" else None)

import evenhand

assert not sockets, f"import evenhand made sockets: {sockets}"
assert threading.active_count() == 1, f"import evenhand started {threading.enumerate()[1:]}"
heavy = {"httptools", "jsonschema_rs", "langchain_core", "numpy", "openai", "orjson", "pydantic", "sqlalchemy", "typer"}
assert not heavy & sys.modules.keys(), f"import evenhand loaded {heavy & sys.modules.keys()}"
"""


def test_importing_does_nothing_and_loads_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=60, check=False)

    assert done.stderr == ""


# The sources

MOST_LINES = 400
POSIX_ONLY = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
UNSAFE_MODULES = {"marshal", "pickle"}
UNSAFE_CALLS = {"eval", "exec", "os.system", "yaml.load"}


def found_in(paths: Iterable[Path], rule: Callable[[Path], object]) -> dict[str, object]:
    """Return what is against a rule, by the module that it is in."""
    return {str(path.relative_to(ROOT)): found for path in paths if (found := rule(path))}


def test_a_module_holds_one_idea() -> None:
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in SOURCES}

    assert found_in(SOURCES, lambda path: lines[path] > MOST_LINES) == {}, "look for the second idea in it"


@pytest.mark.slow
def test_a_module_can_be_imported_on_windows() -> None:
    assert found_in(SOURCES, lambda path: POSIX_ONLY & imports(outside_functions(modules()[path]))) == {}


# What takes a text apart, or asks what is in it; ``split`` and ``join`` only change its white space.
READS_WORDS = {
    "endswith", "find", "index", "match", "partition", "removeprefix", "removesuffix", "replace", "rpartition", "search",
    "startswith",
}  # fmt: skip


def is_wording(node: ast.AST, error: str) -> bool:
    """Return whether an expression is the message of an exception."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"lower", "casefold"}:
        return is_wording(node.func.value, error)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"str", "repr"}:
        return any(isinstance(argument, ast.Name) and argument.id == error for argument in node.args)
    if not isinstance(node, ast.Attribute) or node.attr not in {"args", "message", "msg"}:
        return False
    return isinstance(node.value, ast.Name) and node.value.id == error


def reads_wording(handler: ast.ExceptHandler) -> Iterator[int]:
    """Yield the lines of a handler that decide by the message of the exception."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in READS_WORDS:
            parts = [node.func.value, *node.args]
        else:
            continue
        if any(is_wording(part, handler.name or "") for part in parts):
            yield node.lineno


def test_no_module_reads_the_wording_of_an_exception() -> None:
    def lines(path: Path) -> list[int]:
        handlers = [node for node in nodes_of(path) if isinstance(node, ast.ExceptHandler)]
        return [line for handler in handlers for line in reads_wording(handler)]

    assert found_in(SOURCES, lines) == {}


def test_that_rule_finds_what_it_forbids() -> None:
    source = """
try: pass
except OSError as error:
    full = "disk is full" in str(error)
    same = str(error).lower() == "busy"
    rest = str(error).removeprefix("schema: ")
    asks = error.msg.startswith("Unterminated")
    sees = re.search("line 1", str(error))
    calm = " ".join(str(error).split())
"""
    (handler,) = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ExceptHandler)]

    assert list(reads_wording(handler)) == [4, 5, 6, 7, 8]


def test_a_difference_that_rounds_to_zero_has_no_minus() -> None:
    """With ``z``, -0.001 is written as +0.00."""

    def lines(path: Path) -> list[int]:
        texts = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        return [number for number, text in texts if re.search(r":\+\.\d", text)]

    assert found_in(SOURCES, lines) == {}


def test_a_module_runs_no_text_as_code() -> None:
    def unsafe(path: Path) -> list[str]:
        calls = [node for node in nodes_of(path) if isinstance(node, ast.Call)]
        return [
            *UNSAFE_MODULES & imports(nodes_of(path)),
            *UNSAFE_CALLS & {ast.unparse(call.func) for call in calls},
            *(f"{call.lineno}: shell=True" for call in calls for given in call.keywords if is_shell(given)),
        ]

    assert found_in(SOURCES, unsafe) == {}


def is_shell(given: ast.keyword) -> bool:
    return given.arg == "shell" and not (isinstance(given.value, ast.Constant) and given.value.value is False)


def test_values_need_the_standard_library_only() -> None:
    known = sys.stdlib_module_names | {"evenhand"}

    assert found_in((PACKAGE / "domain").rglob("*.py"), lambda path: imports(nodes_of(path)) - known) == {}


def outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """Walk what runs when a module is imported."""
    left = [node]
    while left:
        for child in ast.iter_child_nodes(left.pop()):
            yield child
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                left.append(child)


def imports(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the top-level names of what is imported."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add((node.module or "").partition(".")[0])
    return names


# The database

# What runs are stored with, which only the store may use: the layers above are the same for SQLite and PostgreSQL.
DRIVERS = {"psycopg", "sqlite3"}
SQL = re.compile(
    r"\b(SELECT\s.*\bFROM|INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX)|PRAGMA\s)",
    re.DOTALL,
)
# A temporary file, for more profiles than fit into memory.
WITH_A_DATABASE_OF_ITS_OWN = PACKAGE / "profiles" / "ranking" / "entrants.py"
ABOVE_THE_STORE = [
    path for path in SOURCES if PACKAGE / "store" not in path.parents and path != WITH_A_DATABASE_OF_ITS_OWN
]


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ast.unparse(node)


def test_only_the_store_uses_the_database() -> None:
    def uses(path: Path) -> list[str | int]:
        nodes = nodes_of(path)
        texts = [node for node in nodes if isinstance(node, ast.Constant | ast.JoinedStr)]
        return [
            *DRIVERS & imports(nodes),
            *(node.lineno for node in nodes if isinstance(node, ast.Attribute) and node.attr == "database"),
            *(node.lineno for node in texts if SQL.search(text_of(node))),
        ]

    assert found_in(ABOVE_THE_STORE, uses) == {}


# The repository

# Written so that they do not find themselves.
# One of these is in each of them, and quicker to look for.
PARTS = ("index", "simpl", "/work", "/farm", "/root", "/home", "/users")
INDEX_ADDRESS = re.compile(r"index[-_]url|extra[-_]index|/simpl[e]\b", re.IGNORECASE)
MACHINE_PATH = re.compile(r"(?<![\w.])/(work|farm|root|home|Users)/\w")


def our_files() -> list[str]:
    if not (ROOT / ".git").exists():  # unpacked from an archive: what is hidden there is not ours
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
        return [path.as_posix() for path in paths if not any(part.startswith((".", "__")) for part in path.parts[:-1])]
    # Whoever owns the checkout: CI often runs as somebody else, and only names are read.
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=30, check=True).stdout.decode()
    return [name for name in listed.split("\0") if name]


def our_texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the content of every text file that is tracked, or would be if it were added."""
    for name in our_files():
        if (ROOT / name).is_file() and b"\0" not in (content := (ROOT / name).read_bytes()):
            yield name, content.decode()


def has_part(text: str) -> bool:
    lower = text.lower()
    return any(part in lower for part in PARTS)


@pytest.mark.slow
def test_no_file_names_a_package_index_or_a_path_of_a_machine() -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in our_texts()
        if has_part(text) and (INDEX_ADDRESS.search(text) or MACHINE_PATH.search(text))
        for number, line in enumerate(text.splitlines(), start=1)
        if INDEX_ADDRESS.search(line) or MACHINE_PATH.search(line)
    ]

    assert found == []


def test_every_dependency_has_its_reason() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [
        pyproject["build-system"]["requires"],
        pyproject["project"]["dependencies"],
        *pyproject["project"]["optional-dependencies"].values(),
        *pyproject["dependency-groups"].values(),
    ]
    declared = {re.split(r"[^\w.-]", one)[0] for some in lists for one in some if isinstance(one, str)}

    page = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^- \*\*([\w.-]+)\*\*", page, re.MULTILINE))

    assert explained == declared


def test_only_tests_and_their_conftests_mark_tests_as_long() -> None:
    """`make test-long` collects no other files, nor the folders of other conftests."""
    elsewhere = [
        path.name
        for path in (ROOT / "tests").rglob("*.py")
        if not re.fullmatch(r"test_.*\.py|conftest\.py", path.name) and "mark.long" in path.read_text("utf-8")
    ]

    assert elsewhere == []
