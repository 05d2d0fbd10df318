"""The suite that comes of a conversion, checked part by part as a run would, and written as YAML that reads well."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from evenhand.convert.source import CannotCarryError, Left, Part
from evenhand.domain.errors import ConfigError
from evenhand.suites.cases import CaseMaker
from evenhand.suites.checks import Checks
from evenhand.suites.document import open_document
from evenhand.suites.header import check_header
from evenhand.suites.values import Fault, Listed, Mapped, Piece, plain, walk
from evenhand.suites.yaml_scalars import SurpriseError, meaning

_WIDTH: Final = 120
_LONG: Final = 100
_STRING: Final = "tag:yaml.org,2002:str"


class Draft:
    """A suite in the making: its header, its cases, each with its evaluators, and what is left of the source."""

    def __init__(self, folder: Path) -> None:
        self.left = Left()
        self.header: dict[str, Any] = {}
        self.cases: list[dict[str, Any]] = []
        self._evaluators: list[list[dict[str, Any]]] = []
        self._checks = Checks(folder / "suite.yaml", folder=folder)
        self._maker = CaseMaker(None, self._checks, folder=folder)
        self._ids: set[str] = set()

    def part(self, mapping: Any, name: str, file: str) -> Part:
        """Begin to carry a mapping of the source over."""
        return Part(mapping, name, file=file, left=self.left)

    def evaluator_problem(self, definition: Mapping[str, Any]) -> str | None:
        """Return why a suite could not have an evaluator; None where it can."""
        return next((fault.text for fault in self._checks.evaluator(definition, 0)), None)

    def model_problem(self, key: str, model: Any) -> str | None:
        """Return why a suite could not have a judge or a target; None where it can."""
        check = self._checks.judge if key == "judge" else self._checks.target
        return next((fault.text for fault in check(model, 0)), None)

    def add_case(self, case: dict[str, Any], evaluators: list[dict[str, Any]]) -> None:
        """Add a case; what has no value is left out, and an id that is there already is numbered.

        Raises ``CannotCarryError`` where a suite could not have it.
        """
        ordered = {key: case[key] for key in (*_CASE_ORDER, *case) if key in case}
        case = {key: value for key, value in ordered.items() if value is not None and value != {}}
        faults: list[Fault] = []
        self._maker.planned(Piece(1, with_lines(case)), 0, faults)
        if faults:
            raise CannotCarryError(faults[0].text)
        if "id" in case:
            case["id"] = numbered(case["id"], self._ids)
        self.cases.append(case)
        self._evaluators.append(evaluators)

    def leave_wrong_settings(self, file: str) -> None:
        """Leave out whatever of the header a suite could not have."""
        for key, value in list(self.header.items()):
            header = with_lines({key: value})
            if fault := next(check_header(header, self._checks), None):
                del self.header[key]
                self.left.add(file, 1, key, fault.text)

    def suite(self) -> dict[str, Any]:
        """Return the suite: evaluators that all cases share stand in its header, others in their cases."""
        first = self._evaluators[0] if self._evaluators else []
        shared = [each for each in first if all(each in others for others in self._evaluators)]
        names = [each["name"] for each in shared]
        cases = []
        for case, evaluators in zip(self.cases, self._evaluators, strict=True):
            own = [each["name"] if each in shared else each for each in evaluators]
            cases.append(case if own == names else {**case, "evaluators": own})
        header = dict(self.header)
        if shared:
            header["evaluators"] = shared
        return {key: header[key] for key in _ORDER if key in header} | {"cases": cases}


_ORDER: Final = (
    "name", "description", "judge", "target", "evaluators", "thresholds", "gates", "timeout", "concurrency", "repeat",
    "metadata",
)  # fmt: skip

_CASE_ORDER: Final = ("id", "input", "context", "candidate_answer", "reference_answer", "expected_outcome", "cluster")


def with_lines(value: Any) -> Any:
    """Return plain values as the readers of suites have them."""
    if isinstance(value, dict):
        mapped = Mapped(1)
        mapped.update({key: with_lines(item) for key, item in value.items()})
        mapped.lines.update(dict.fromkeys(mapped, 1))
        return mapped
    if isinstance(value, list):
        listed = Listed(1)
        listed += [with_lines(item) for item in value]
        listed.lines += [1] * len(value)
        return listed
    return value


def numbered(name: str, taken: set[str]) -> str:
    """Return a name that is not taken yet, with a number if need be; from now on it is.

    >>> numbered("equals", {"equals"})
    'equals 2'
    """
    number, distinct = 1, name
    while distinct in taken:
        number += 1
        distinct = f"{name} {number}"
    taken.add(distinct)
    return distinct


def named(definitions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give every evaluator of a case a name of its own: its type if it has none, with a number if need be."""
    taken: set[str] = set()
    result = []
    for definition in definitions:
        name = numbered(str(definition.get("name") or definition["type"]), taken)
        result.append({"name": name, **{key: value for key, value in definition.items() if key != "name"}})
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A suite as YAML, what was not carried over, and which tool the source is from."""

    text: str
    left: tuple[str, ...]
    kind: str
    cases: int


def finished(draft: Draft, *, source: str, kind: str, is_moved: bool) -> Conversion:
    """Write the suite of a draft, with the list of what was left at its top.

    ``is_moved`` says that the suite goes into another folder than its source, whose files it may name.
    """
    draft.leave_wrong_settings(source)
    suite = draft.suite()
    if is_moved and _names_files(suite):
        draft.left.note(source, 1, "the suite names files and programs, which must be in its folder; copy them there")
    if not suite["cases"]:
        reasons = "\n".join(draft.left.lines)
        raise ConfigError(
            f"{source}: there is no case that could be carried over" + (f"\n{reasons}" if reasons else "")
        )
    head = [f"Made by `evenhand convert` from {source}, a file of {kind}."]
    if draft.left.lines:
        head += ["Not carried over, or changed:", *(f"- {line}" for line in draft.left.lines)]
    text = "".join(f"# {line}\n" for line in head) + "\n" + suite_text(suite)
    return Conversion(text=text, left=draft.left.lines, kind=kind, cases=len(suite["cases"]))


def _names_files(suite: Mapping[str, Any]) -> bool:
    return any(
        key == "command" or (isinstance(value, dict) and value.get("type") == "file")
        for key, value, _ in walk(suite, 1)
    )


class _Dumper(yaml.SafeDumper):
    """Writes long texts as blocks, quotes what readers of YAML disagree about, and repeats what is there twice."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - suites have no aliases
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif len(text) > _LONG:
        style = ">"
    elif not _means_itself(text):
        style = "'"
    return dumper.represent_scalar(_STRING, text, style=style)


def _means_itself(text: str) -> bool:
    try:
        return meaning(text) == text if text else False
    except SurpriseError:
        return False


_Dumper.add_representer(str, _represent_text)


def suite_text(suite: Mapping[str, Any]) -> str:
    """Write a suite as YAML, and make sure that it reads as what it is.

    >>> print(suite_text({"judge": "openai/gpt-5-mini", "cases": [{"id": "1e3", "input": "Hi"}]}), end="")
    judge: openai/gpt-5-mini
    cases:
    - id: '1e3'
      input: Hi
    """
    written = plain(dict(suite))
    text: str = yaml.dump(written, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "suite.yaml")
        path.write_text(text, encoding="utf-8", newline="\n")
        document = open_document(path)
        cases = [plain(piece.value) for piece in document.cases()]
    if {**plain(document.header), "cases": cases} != written:
        raise ConfigError("the file has characters that YAML does not preserve")
    return text
