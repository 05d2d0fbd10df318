"""Prompts of promptfoo: as those of the targets, with variables that the cases have, or as the input of each case."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from evenhand.convert.asserts import rendered, text_of
from evenhand.convert.draft import Draft, numbered
from evenhand.convert.source import CannotCarryError, Part, Source, items
from evenhand.domain.template import Template
from evenhand.suites.values import Listed, Mapped, plain

_USUAL_PROMPT: Final = "{{prompt}}"
_PROMPT_FILES: Final = (".txt", ".md", ".json", ".yaml", ".yml", ".csv", ".py", ".js", ".ts", ".mjs")
# The names that stand for the input of a case in the prompt of a target.
_INPUT: Final = ("input", "question")
_MOST_CHARACTERS: Final = 60


class _Prompt(NamedTuple):
    """A prompt of the configuration, text or messages, with the name that it has in lists and in the suite."""

    content: Any
    place: str
    name: str
    line: int

    def variables(self) -> list[str]:
        """Return the names of its variables, in the order in which they are used."""
        texts = self.as_target() or {"prompt": self.content if isinstance(self.content, str) else ""}
        parts = (part for text in texts.values() for part in Template.with_double_braces(text).parts)
        return list(dict.fromkeys(part.name for part in parts if not isinstance(part, str)))

    def as_target(self) -> dict[str, str] | None:
        """Return the texts of a target that asks this: a prompt, and perhaps a system text; None where none does."""
        match self.content:
            case str() as text:
                return {"prompt": text}
            case [{"role": "user", "content": str() as text}]:
                return {"prompt": text}
            case [{"role": "system", "content": str() as system}, {"role": "user", "content": str() as text}]:
                return {"system": system, "prompt": text}
        return None


@dataclass(slots=True, kw_only=True)
class Prompts:
    """What is carried over: ``texts`` by name for the targets, and the ``variable`` that is the input of each case.

    Without texts, ``content`` is the one prompt, which is filled in as the input of each case. ``lines`` are those of
    the texts in the configuration.
    """

    content: str | list[Any]
    texts: dict[str, dict[str, str]] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)
    variable: str | None = None
    names: frozenset[str] = frozenset()

    def input_of(self, values: Mapping[str, Any]) -> Any:
        """Return what a case asks: the value of the one variable, or the prompt with all variables filled in."""
        if self.variable is not None:
            if missing := sorted(self.names - set(values)):
                raise CannotCarryError(f"the prompt uses the variable {missing[0]!r:.80}, which has no value")
            return text_of(values[self.variable])
        if isinstance(self.content, str):
            return rendered(self.content, values)
        return [
            {key: rendered(text, values) if isinstance(text, str) else text for key, text in message.items()}
            for message in self.content
        ]

    def without_target(self, file: str, draft: Draft) -> Prompts:
        """Return what the cases ask where no provider was carried over: the first prompt; the others are listed."""
        for name, line in [*self.lines.items()][1:]:
            draft.left.add(file, line, name, "there is no target that could ask with it")
        return Prompts(content=self.content)


def prompts_of(root: Part, source: Source, draft: Draft) -> Prompts | None:
    """Take the prompts that can be carried over; without any, promptfoo's own is used."""
    prompts = [*_prompts(root, source, draft)]
    several = [prompt for prompt in prompts if prompt.as_target() is not None and prompt.variables()]
    kept = several if len(several) > 1 else prompts[:1]
    why = "of several prompts, each must have a variable and be a text, or a system message and a user message"
    if {*_INPUT} <= {name for prompt in kept for name in prompt.variables()}:
        kept, why = kept[:1], "variables named input and question cannot be told apart, so one prompt is carried over"
    for prompt in prompts:
        if prompt not in kept:
            draft.left.add(root.file, prompt.line, prompt.place, why)
    if len(kept) > 1:
        return _several(kept)
    return _single(kept[0]) if kept else None


def _single(prompt: _Prompt) -> Prompts:
    """Return one prompt: of the target where it is a text with one variable, else of the cases."""
    if isinstance(prompt.content, str) and len(prompt.variables()) == 1:
        return _several([prompt])
    return Prompts(content=prompt.content)


def _several(prompts: list[_Prompt]) -> Prompts:
    names = list(dict.fromkeys(name for prompt in prompts for name in prompt.variables()))
    variable = next((name for name in names if name in _INPUT), names[0])
    return Prompts(
        content=prompts[0].content,
        texts={
            prompt.name: {key: _with_input(text, variable) for key, text in (prompt.as_target() or {}).items()}
            for prompt in prompts
        },
        lines={prompt.name: prompt.line for prompt in prompts},
        variable=variable,
        names=frozenset(names),
    )


def _with_input(text: str, variable: str) -> str:
    """Put the input of a case in the place of a variable; the others are in the metadata of each case.

    >>> _with_input("Write to {{name}} about {{topic}}", "topic")
    'Write to {{ name }} about {{ input }}'
    """
    parts = Template.with_double_braces(text).parts
    return "".join(
        part if isinstance(part, str) else f"{{{{ {'input' if part.name == variable else part.name} }}}}"
        for part in parts
    )


def _prompts(root: Part, source: Source, draft: Draft) -> Iterator[_Prompt]:
    """Yield the prompts that can be carried over; the others are listed."""
    line = root.line("prompts")
    taken = root.take("prompts")
    listed = [*items(taken)] if isinstance(taken, Listed) else [(taken, line)]
    if isinstance(taken, Mapped):
        listed = [(key, taken.lines[key]) for key in taken]
    names: set[str] = set()
    for number, (item, where) in enumerate(listed, 1):
        place = f"prompt {number}"
        try:
            for content in _contents(item, place, root, source, draft):
                _check(content)
                yield _Prompt(content, place, numbered(_label(item) or place, names), where)
        except CannotCarryError as error:
            draft.left.add(root.file, where, place, str(error))


def _label(item: Any) -> str:
    label = item.get("label") if isinstance(item, Mapped) else None
    return " ".join(label.split())[:_MOST_CHARACTERS] if isinstance(label, str) else ""


def _is_file(prompt: str) -> bool:
    """Return whether a prompt names a file or a program: ``prompts/one.txt``, ``make.py:function``, ``exec:…``."""
    if len(prompt.splitlines()) != 1:
        return False
    path, _, function = prompt.rpartition(":")
    named = path if path and function.isidentifier() else prompt
    return prompt.startswith(("file://", "exec:")) or (named.endswith(_PROMPT_FILES) and len(prompt.split()) == 1)


def _contents(item: Any, place: str, root: Part, source: Source, draft: Draft) -> list[Any]:
    """Return the prompts that an entry stands for: a text, a list of messages, or those of a file."""
    if item is None:
        return [_USUAL_PROMPT]
    if isinstance(item, Mapped):
        with draft.part(item, place, root.file) as part:
            part.take("label")
            raw, identity = part.take("raw"), part.take("id")
            part.leave("config", "settings belong to the target")
            return _contents(identity if raw is None else raw, place, root, source, draft)
    if isinstance(item, Listed):
        return [plain(item)]
    if not isinstance(item, str):
        raise CannotCarryError("it must be text")
    if not _is_file(item):
        return [_messages_in(item)]
    if item.removeprefix("file://").endswith((".yaml", ".yml", ".json")):
        return [plain(source.value(item).value)]
    if item.startswith("exec:"):
        raise CannotCarryError("no program of another tool is run")
    texts = re.split(r"^---$", source.text(item), flags=re.MULTILINE)
    return [_messages_in(text.strip()) for text in texts if text.strip()]


def _messages_in(text: str) -> Any:
    """Return the messages that a text holds as JSON, as chat prompts of promptfoo do; else the text."""
    if text.lstrip().startswith("["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        if isinstance(value, list) and value and all(isinstance(item, dict) and "role" in item for item in value):
            return value
    return text


def _check(content: Any) -> None:
    """Refuse what is neither text nor messages, and text with more than plain variables."""
    if isinstance(content, list) and all(isinstance(message, dict) and "role" in message for message in content):
        texts = [message.get("content") for message in content]
    elif isinstance(content, str):
        texts = [content]
    else:
        raise CannotCarryError("it must be text or a list of messages")
    for text in texts:
        if isinstance(text, str):
            rendered(text, dict.fromkeys(Template.with_double_braces(text).names, ""))
