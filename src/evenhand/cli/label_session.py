"""Labels in the terminal: one case after the other in the order of the draw, each label stored at once."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Final

from evenhand.cli.console import Console
from evenhand.domain.errors import ConfigError
from evenhand.domain.label import MOST_NOTE, Draw, Label, LabelValue, answer_of, label_value
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.engine.store_location import run_command
from evenhand.labels.file import reference_text
from evenhand.labels.queue import Queue, case_of, give_label
from evenhand.labels.undecided import undecided_queue
from evenhand.reports.phrases import counted, score_text
from evenhand.reports.safe_text import plain, plain_lines
from evenhand.store.store import Store

KEYS: Final = "1 pass, 2 fail, 3 skip, s score, n note, u undo, q quit"
_VALUES: Final[dict[str, LabelValue]] = {"1": "pass", "2": "fail"}
_INDENT: Final = "    "


class LabelSession:
    """The dialog with a person who labels; it ends with ``q``, at the end of the input, or when all are labelled."""

    def __init__(
        self,
        console: Console,
        store: Store,
        run: RunRecord,
        *,
        rater: str,
        evaluator: str | None = None,
        shows_judge: bool = False,
        undecided: Draw | None = None,
    ) -> None:
        self._console, self._store, self._run = console, store, run
        self._rater, self._evaluator, self._shows_judge = rater, evaluator, shows_judge
        # Cases that were left to people, in the place of a draw.
        self._undecided = undecided
        self._skipped: set[int] = set()
        self._note = ""

    def run(self) -> None:
        """Show cases until nothing is left, or the person has had enough."""
        self._console.note(f"{self._rater} labels run {self._run.id}; keys: {KEYS}")
        while True:
            queue = self._queue()
            drawn = queue.next(self._skipped)
            if drawn is None:
                those = "of the draw" if self._undecided is None else "left to people"
                self._console.note(f"all {counted(queue.size, 'case')} {those} are labelled")
                if self._key("u undo, q quit> ") != "u":
                    return
                self._undo(queue.last)
                continue
            if drawn.position in self._skipped:
                self._console.note("only skipped cases are left; they are shown again")
                self._skipped.clear()
            if not self._case(queue, case_of(self._store, self._run, drawn)):
                break
        those = "" if self._undecided is None else " --undecided"
        again = f"{run_command('label', self._run.id, self._store.address)}{those}"
        self._console.note(f"{queue.done:,} of {queue.size:,} labelled; go on with: {again}")

    def _queue(self) -> Queue:
        if self._undecided is not None:
            return undecided_queue(
                self._store, self._run, rater=self._rater, evaluator=self._evaluator, draw=self._undecided
            )
        return Queue.of(self._store, self._run, rater=self._rater, evaluator=self._evaluator)

    def _case(self, queue: Queue, result: CaseResult) -> bool:
        """Show a case and do what the person types; return whether to go on."""
        self._show(queue, result)
        while True:
            key = self._key(f"{queue.done + 1:,} of {queue.size:,}> ")
            if key is None or key == "q":
                return False
            if key == "n":
                self._note = (self._line("note: ") or "")[:MOST_NOTE]
            elif key == "u":
                if self._undo(queue.last):
                    return True
            elif key == "3":
                self._skipped.add(result.position)
                return True
            elif key not in _VALUES and key != "s":
                self._console.note(f"{key!r:.40} is no key; the keys: {KEYS}")
            elif (value := _VALUES.get(key) or self._score()) is not None:
                self._store_label(result, value)
                return True

    def _store_label(self, result: CaseResult, value: LabelValue) -> None:
        label = give_label(
            self._store,
            self._run,
            result,
            rater=self._rater,
            value=value,
            note=self._note,
            evaluator=self._evaluator,
            from_draw=self._undecided is None,
        )
        self._note = ""
        said = f"stored: {label.value}"
        if self._shows_judge:
            said += f"; the judge said: {_judged(result, self._evaluator)}"
        self._console.note(said)

    def _undo(self, last: Label | None) -> bool:
        if last is None:
            self._console.note("there is no label of yours to take back")
            return False
        self._store.labels.withdraw(self._run, position=last.position, rater=self._rater, evaluator=self._evaluator)
        self._note = last.note
        self._skipped.discard(last.position)
        self._console.note(f"undone: {last.value} for {plain(last.case)}")
        return True

    def _score(self) -> LabelValue | None:
        text = self._line("score from 0 to 1: ")
        try:
            return label_value(text or "")
        except ConfigError as error:
            self._console.note(str(error))
            return None

    def _show(self, queue: Queue, result: CaseResult) -> None:
        whose = "" if self._evaluator is None else f", as {plain(self._evaluator)} judges it"
        lines = [f"\n{queue.done + 1:,} of {queue.size:,}: case {plain(result.id)}{whose}"]
        texts = (
            ("input", result.case.question_text),
            ("reference", reference_text(result)),
            ("answer", answer_of(result)),
        )
        for name, text in texts:
            if text is not None and (text or name == "answer"):
                lines += [f"  {name}:", *(f"{_INDENT}{line}" for line in plain_lines(text).split("\n"))]
        self._console.result("\n".join(lines))

    def _key(self, prompt: str) -> str | None:
        """Return the key that was pressed, or the first letter of a line that is not typed at a terminal."""
        if not _has_keys():
            line = self._line(prompt)
            return None if line is None else line.strip().lower()
        self._console.prompt(prompt)
        with _single_keys():
            pressed = os.read(sys.stdin.fileno(), 1)
        self._console.prompt("\n")
        key = pressed.decode("utf-8", "replace").lower()
        return None if key in ("", "\x04") else key

    def _line(self, prompt: str) -> str | None:
        """Return the line that was typed; None at the end of the input."""
        self._console.prompt(prompt)
        line = _typed_line() if _has_keys() else sys.stdin.readline()
        return line.rstrip("\r\n") if line else None


def _typed_line() -> str:
    """Read a line from a terminal byte by byte: what was typed ahead, perhaps keys, stays there."""
    typed = b""
    while not typed.endswith(b"\n") and (byte := os.read(sys.stdin.fileno(), 1)):
        typed += byte
    return typed.decode("utf-8", "replace")


def _judged(result: CaseResult, evaluator: str | None) -> str:
    if evaluator is None:
        verdict, score = result.outcome.verdict, result.outcome.score
    else:
        found = next(one.evaluation for one in result.judgments if one.evaluation.evaluator == evaluator)
        verdict, score = found.verdict, found.score
    return f"{'no verdict' if verdict is None else verdict.value} ({score_text(score)})"


def _has_keys() -> bool:
    """Return whether single keys can be read: at a terminal, on a system that has ``termios``."""
    if not sys.stdin.isatty():
        return False
    try:
        import termios  # noqa: F401, PLC0415 - not on every system
    except ImportError:
        return False
    return True


@contextlib.contextmanager
def _single_keys() -> Iterator[None]:
    import termios  # noqa: PLC0415 - not on every system
    import tty  # noqa: PLC0415

    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSANOW)  # what was typed ahead stays
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
