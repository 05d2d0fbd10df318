"""A suite's file with a tuned evaluator in it: only that evaluator changes, the rest stays as it was written."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from evenhand.domain.errors import ConfigError
from evenhand.suites.document import open_document
from evenhand.suites.evaluators import name_of
from evenhand.suites.python_evaluators import MADE_IN_PYTHON
from evenhand.suites.values import plain
from evenhand.suites.yaml_reader import LOADER

_WIDTH: Final = 100
_TEXT: Final = "tag:yaml.org,2002:str"


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and repeats what is there twice: suites have no aliases."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
        return True


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar(_TEXT, text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent_text)


def definition_text(definition: Mapping[str, Any]) -> str:
    """Write the definition of an evaluator as a suite has it.

    >>> print(definition_text({"name": "quality", "instructions": "Be strict."}), end="")
    name: quality
    instructions: Be strict.
    """
    written = {key: value for key, value in definition.items() if key != MADE_IN_PYTHON}
    text: str = yaml.dump(written, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    return text


def tuned_suite(path: Path, evaluator: Mapping[str, Any]) -> str:
    """Return the text of a suite's file with the evaluator of the same name replaced; nothing else changes."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: the suite cannot be read: {error}") from None
    node = _evaluator_node(text, name_of(evaluator), path)
    begin, end = node.start_mark.index, _end(node)
    end = begin + len(text[begin:end].rstrip())
    if _is_in_flow(node, text):
        written = json.dumps(evaluator, ensure_ascii=False)
    else:
        indent = "\n" + " " * node.start_mark.column
        written = indent.join(definition_text(evaluator).rstrip("\n").split("\n"))
    changed = f"{text[:begin]}{written}{text[end:]}"
    _require_same(path, text, changed, evaluator)
    return changed


def _end(node: Any) -> int:
    """Return where a node ends. A block ends with its last value; what follows up to the next key may be comments."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _is_in_flow(node: Any, text: str) -> bool:
    """Return whether a mapping stands in brackets of others, where no block can; a lone one can become a block."""
    before = text[: node.start_mark.index].rpartition("\n")[2]
    return before.strip() != "-"


def _evaluator_node(text: str, name: str, path: Path) -> Any:
    try:
        root = yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: the suite cannot be read as YAML: {error}") from None
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value == "evaluators" and isinstance(value, yaml.SequenceNode):
            for node in value.value:
                if isinstance(node, yaml.MappingNode) and name == name_of(_named(node)):
                    return node
    raise ConfigError(f"{path}: there is no evaluator {name!r:.80} in it any more")


def _named(node: yaml.MappingNode) -> dict[str, str]:
    """Return what an evaluator is known by."""
    return {key.value: str(value.value) for key, value in node.value if key.value in ("name", "type")}


def _require_same(path: Path, before: str, after: str, evaluator: Mapping[str, Any]) -> None:
    """Read the new suite as `evenhand run` will, and refuse it if anything but the evaluator changed."""
    old, new = _read(path, before), _read(path, after)
    wanted = [dict(evaluator) if name_of(one) == name_of(evaluator) else one for one in old["evaluators"]]
    if new != {**old, "evaluators": wanted}:
        raise ConfigError(f"{path}: the tuned evaluator cannot be written into it; add it by hand")


def _read(path: Path, text: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, path.name)
        copy.write_text(text, encoding="utf-8", newline="")
        return dict(plain(open_document(copy).header))
