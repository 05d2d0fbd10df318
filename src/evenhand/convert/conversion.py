"""Find out which tool a file is from, and turn it into a suite or, if it has results, into a run.

Here, too, the data sets of openevals.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evenhand.convert import agentv, inspect_results, promptfoo, promptfoo_results
from evenhand.convert.draft import Conversion, Draft, finished, named
from evenhand.convert.recorded_file import Row, ZipLog, is_zip, read_document, read_lines, require_strict
from evenhand.convert.recorded_results import ImportedResults, Recording, store_recording
from evenhand.convert.source import CannotCarryError, Loaded, Source, as_context, items
from evenhand.domain.errors import ConfigError
from evenhand.engine.run import Run
from evenhand.engine.store_location import DEFAULT, PlaceLike, StoreLocation
from evenhand.store.store import Store
from evenhand.store.transfer import KIND as EXPORTED
from evenhand.suites.cases import id_problem
from evenhand.suites.text_file import require_file
from evenhand.suites.values import Listed, Mapped, plain

KINDS: Final = ("promptfoo", "agentv", "openevals")
_LOOKED_FOR: Final = (
    "promptfoo has prompts, providers and tests with vars or assert; AgentV has tests or evalcases with input and "
    "criteria; openevals has a list of inputs, outputs and reference_outputs"
)


def convert(path: Path, kind: str | None = None, *, folder: Path | None = None) -> Conversion:
    """Turn a file of promptfoo, AgentV or openevals into a suite; ``kind`` says which, else its keys do.

    ``folder`` is where the suite will be, if not in that of the file.
    """
    require_file(path)
    source = Source(path)
    loaded = source.read()
    kind = kind or _kind_of(loaded)
    draft = Draft(source.folder)
    if kind == "promptfoo":
        promptfoo.convert_promptfoo(loaded, source, draft)
    elif kind == "agentv":
        agentv.convert_agentv(loaded, source, draft)
    else:
        _carry_data_set(loaded, draft)
    is_moved = folder is not None and folder.resolve() != source.folder.resolve()
    return finished(draft, source=path.name, kind=kind, is_moved=is_moved)


def _kind_of(loaded: Loaded) -> str:
    """Recognise a file by its keys."""
    value = loaded.value
    tests = _tests(value)
    keys = set(value) if isinstance(value, Mapped) else set()
    of_tests = {key for test in tests for key in test}
    kinds = []
    is_agentv = bool(keys & agentv.KEYS or of_tests & agentv.CASE_KEYS)
    if (keys & promptfoo.KEYS or "vars" in of_tests) and not is_agentv:
        kinds.append("promptfoo")
    if is_agentv:
        kinds.append("agentv")
    if _examples_in(value) is not None:
        kinds.append("openevals")
    if not kinds:
        names = ", ".join(sorted(keys | of_tests)[:8]) or "none"
        raise ConfigError(f"{loaded.file}: this is no file that can be converted: {_LOOKED_FOR}; its keys are {names}")
    if len(kinds) > 1:
        raise ConfigError(f"{loaded.file}: this may be a file of {' or '.join(kinds)}; say which with --from")
    return kinds[0]


def _tests(value: Any) -> list[Mapped]:
    listed = value
    if isinstance(value, Mapped):
        listed = next((value[key] for key in ("tests", "evalcases", "eval_cases") if key in value), None)
    return [test for test in listed if isinstance(test, Mapped)] if isinstance(listed, Listed) else []


# openevals

_EXAMPLE_KEYS: Final = frozenset({"inputs", "outputs", "reference_outputs"})
# Where files have the examples that are not a list themselves.
_LISTS: Final = ("examples", "data", "dataset")
_CRITERION: Final = "Answers the question correctly, and does not contradict the reference answer where there is one"


def _text(value: Any) -> Any:
    """Return a value as openevals puts it into a prompt: text as it is, messages as messages, anything else as JSON."""
    made = plain(value)
    if isinstance(made, dict) and set(made) == {"messages"}:
        made = made["messages"]
    if made is None or isinstance(made, str) or _is_messages(made):
        return made
    return json.dumps(made, ensure_ascii=False)


def _answered(messages: list[Any]) -> dict[str, Any]:
    """Return messages as an answer: the last one is what is judged."""
    content = messages[-1].get("content")
    text = content if isinstance(content, str) else json.dumps(messages[-1], ensure_ascii=False)
    return {"candidate_answer": text, "output_messages": messages}


def _is_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


def _examples_in(value: Any) -> Listed | None:
    """Return the examples of a data set; None where a value is none."""
    listed = (
        next((value[key] for key in _LISTS if isinstance(value.get(key), Listed)), None)
        if isinstance(value, Mapped)
        else value
    )
    is_set = isinstance(listed, Listed) and bool(listed) and all(isinstance(item, Mapped) for item in listed)
    return listed if is_set and any(_EXAMPLE_KEYS & item.keys() for item in listed or ()) else None


def _carry_data_set(loaded: Loaded, draft: Draft) -> None:
    """Carry a data set over; how to judge it stood in a program, so the suite asks for correctness."""
    examples = _examples_in(loaded.value)
    if examples is None:
        raise ConfigError(
            f"{loaded.file}: a data set for openevals is a list of mappings with inputs, outputs and reference_outputs"
        )
    if isinstance(loaded.value, Mapped):
        with draft.part(loaded.value, "the data set", loaded.file) as root:
            root.take(*_LISTS)
            draft.header |= {key: value for key in ("name", "description") if (value := root.take(key)) is not None}
    draft.left.note(
        loaded.file,
        1,
        "a data set says nothing about judging; the suite asks whether answers are correct, so change that",
    )
    evaluator = {"name": "correctness", "type": "llm_judge", "rubrics": [_CRITERION]}
    for number, (item, _) in enumerate(items(examples), 1):
        with draft.part(item, f"example {number}", loaded.file) as part:
            identity = part.take("id", "key")
            case: dict[str, Any] = {}
            if isinstance(identity, str) and id_problem(identity) is None:
                case["id"] = identity
            elif identity is not None:
                part.leave("id", "an id is a line of text")
            case["input"] = _text(part.take("inputs"))
            answer = _text(part.take("outputs"))
            case |= _answered(answer) if _is_messages(answer) else {"candidate_answer": answer}
            case["reference_answer"] = _text(part.take("reference_outputs"))
            if as_context(item.get("context")) is not None:
                case["context"] = plain(part.take("context"))
            metadata = plain(part.take("metadata"))
            case["metadata"] = (
                metadata if isinstance(metadata, dict) else {} if metadata is None else {"metadata": metadata}
            )
            for key in [key for key in item if part.has(key) and key != "attachments"]:
                case["metadata"].setdefault(key, plain(part.take(key)))
            part.leave("attachments", "only text is judged")
            try:
                draft.add_case(case, named([evaluator]))
            except CannotCarryError as error:
                part.leave_whole(str(error))


# Results

_RESULTS: Final = (
    "promptfoo writes results.json or results.jsonl with promptfoo eval -o, and Inspect a log that ends in .eval or "
    ".json"
)


def import_results(path: str | os.PathLike[str], *, again: bool = False, store: PlaceLike = DEFAULT) -> Run:
    """Read results that promptfoo or Inspect recorded into the store, as a finished run, and return it.

    No model is asked. A file that was imported before is not imported again, unless ``again`` is set: the run that it
    became is returned. Anything that could not be imported unchanged is listed in its definition.
    """
    place = StoreLocation.of(store)
    with place.opened() as opened:
        imported = results_into(opened, Path(path), again=again)
        return Run(opened.runs.find(imported.id), place)


def results_into(store: Store, path: Path, *, again: bool = False, dry_run: bool = False) -> ImportedResults:
    """Read a file of results into an open store, and say what came of it; a dry run finds the same mistakes."""
    with contextlib.ExitStack() as stack:
        try:
            return store_recording(store, path, _recording_of(path, stack), again=again, dry_run=dry_run)
        except OSError as error:
            raise ConfigError(f"{path}: it cannot be read: {error.strerror}") from None
        except RecursionError:
            raise ConfigError(f"{path}: something in it is nested too deeply") from None


def _recording_of(path: Path, stack: contextlib.ExitStack) -> Recording:
    """Recognise a file of results by what is in it; zip files are closed with the stack."""
    if is_zip(path):
        log = ZipLog(path)
        stack.callback(log.close)
        return inspect_results.read_archive(path, log)
    if path.suffix.lower() in {".jsonl", ".ndjson"}:
        where, first = next(read_lines(path), Row(path.name, {}))
        if promptfoo_results.is_line(first):
            return promptfoo_results.read_rows(path)
        raise _other_file(where, first)
    if path.suffix.lower() in {".yaml", ".yml", ".csv", ".html", ".xml", ".txt"}:
        raise ConfigError(f"{path.name}: results are read from JSON; {_RESULTS}")
    document = read_document(path, allows_nan=True)
    if inspect_results.is_document(document):
        return inspect_results.read_log(path, document)
    if promptfoo_results.is_document(document):
        require_strict(path)
        return promptfoo_results.read_results(path, document)
    raise _other_file(path.name, document)


def _other_file(where: str, value: Mapping[str, Any]) -> ConfigError:
    if value.get("kind") == EXPORTED:
        return ConfigError(f"{where}: this is a run that Evenhand exported; import it with: evenhand import")
    if value.keys() & promptfoo.KEYS:
        return ConfigError(f"{where}: this defines tests and has no results; make a suite of it with: evenhand convert")
    keys = ", ".join(sorted(map(str, value))[:8]) or "none"
    return ConfigError(f"{where}: these are no results that can be imported: {_RESULTS}; its keys are {keys:.200}")
