"""Logs of Inspect as finished runs: JSON and zip files, epochs, every kind of score, and files that mean harm."""

from __future__ import annotations

import json
import struct
import time
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from evenhand import CaseResult, Run, Status, import_results
from evenhand.convert import recorded_file
from evenhand.domain.errors import ConfigError

NOT_CARRIED = "not carried over, unlike the input and the last answer"
VERDICTS = "Inspect records no verdicts: a case passes from 0.8 and is borderline from 0.6, as usual"


def sample(identity: object = 1, value: object = "C", **rest: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "epoch": 1,
        "input": "Capital of France?",
        "target": "Paris",
        "output": {"model": "gpt-5-mini", "choices": [{"message": {"role": "assistant", "content": "Paris"}}]},
        "scores": {"match": {"value": value, "answer": "Paris", "explanation": "It is."}},
        "model_usage": {"openai/gpt-5-mini": {"input_tokens": 7, "output_tokens": 2, "input_tokens_cache_read": 3}},
        "metadata": {"continent": "Europe"},
        "total_time": 1.5,
        **rest,
    }


def header(**rest: Any) -> dict[str, Any]:
    spec = {
        "task": "capitals", "created": "2026-11-15T09:30:00+00:00", "model": "openai/gpt-5-mini",
        "dataset": {"name": "capitals"}, "config": {}, "packages": {"inspect_ai": "0.3.150"},
        "scorers": [{"name": "match", "options": {"location": "end"}}],
    }  # fmt: skip
    stats = {"started_at": "2026-11-15T09:30:00+00:00", "completed_at": "2026-11-15T09:31:00+00:00"}
    return {"version": 2, "status": "success", "eval": spec, "stats": stats, **rest}


def imported(folder: Path, *samples: dict[str, Any], **rest: Any) -> Run:
    (folder / "log.json").write_text(json.dumps(header(samples=list(samples), **rest)))
    return import_results(folder / "log.json", store=None)


def archive(path: Path, members: Mapping[str, object], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, content in members.items():
            made.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return path


def notes_of(run: Run) -> list[str]:
    notes: list[str] = run.record.definition["imported_from"]["notes"]
    return notes


def only_case(run: Run) -> CaseResult:
    (result,) = run
    return result


def test_a_sample_becomes_a_case_with_its_answer_and_what_that_took(tmp_path: Path) -> None:
    run = imported(tmp_path, sample())

    result = only_case(run)
    (answer,) = result.answers
    evaluation = result.judgments[0].evaluation
    assert (run.record.name, run.record.status, run.record.repeat) == ("capitals", "finished", 1)
    assert run.record.origin == "inspect 0.3.150, log.json, 2026-11-15 09:30 UTC"
    assert (result.id, result.case.question, result.case.reference_answer) == ("1", "Capital of France?", "Paris")
    assert (answer.text, answer.latency, answer.cost) == ("Paris", 1.5, None)
    assert answer.usage is not None
    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.cached_tokens) == (10, 2, 3)
    assert (evaluation.evaluator, evaluation.type, evaluation.reasoning) == ("match", "scorer", "It is.")
    assert evaluation.details == {"answer": "Paris"}
    assert result.case.metadata == {"continent": "Europe", "model": "openai/gpt-5-mini", "test_case": "1"}
    assert run.record.definition["evaluators"] == [{"name": "match", "type": "scorer", "recorded": {"location": "end"}}]
    assert notes_of(run) == [f"log.json: {VERDICTS}"]


@pytest.mark.parametrize(
    ("value", "score", "verdict"),
    [
        ("C", 1.0, "pass"),
        ("I", 0.0, "fail"),
        ("P", 0.5, "fail"),
        ("N", 0.0, "fail"),
        (True, 1.0, "pass"),
        (False, 0.0, "fail"),
        (0.7, 0.7, "borderline"),
        (1, 1.0, "pass"),
        ("Yes", 1.0, "pass"),
        ("false", 0.0, "fail"),
        ("0.25", 0.25, "fail"),
    ],
)
def test_values_count_as_they_do_in_inspect(tmp_path: Path, value: object, score: float, verdict: str) -> None:
    evaluation = only_case(imported(tmp_path, sample(value=value))).judgments[0].evaluation

    assert (evaluation.status, evaluation.score, evaluation.verdict) == (Status.SCORED, score, verdict)
    assert evaluation.score_raw == value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (float("nan"), "no score is recorded"),
        (None, "no score is recorded"),
        (float("inf"), "the recorded score, inf, is no number"),
        (8, "the recorded score, 8, is not from 0 to 1, and the file states no scale"),
        ("8", "the recorded score, 8, is not from 0 to 1, and the file states no scale"),
        ("A", "the recorded value, 'A', is neither C, P, I, N, yes, no nor a number"),
        ("nan", "the recorded value, 'nan', is neither C, P, I, N, yes, no nor a number"),
        (["C"], "the recorded value is a list, which is no score"),
    ],
)
def test_what_is_no_score_from_0_to_1_is_not_evaluated_and_never_0(tmp_path: Path, value: object, reason: str) -> None:
    run = imported(tmp_path, sample(value=value))

    evaluation = only_case(run).judgments[0].evaluation
    assert (evaluation.status, evaluation.score, evaluation.reasoning) == (Status.NOT_EVALUATED, None, reason)
    assert evaluation.details["reasoning"] == "It is."
    assert notes_of(run)[0] == f"log.json: samples[0]: match: {reason}, so it is not evaluated"


def test_a_score_with_several_values_is_as_many_evaluators(tmp_path: Path) -> None:
    run = imported(tmp_path, sample(value={"kind": 1, "brief": 0.5, "true": None}))

    evaluations = [judgment.evaluation for judgment in only_case(run).judgments]
    assert [(each.evaluator, each.score) for each in evaluations] == [
        ("match/kind", 1.0), ("match/brief", 0.5), ("match/true", None),
    ]  # fmt: skip


def test_epochs_are_samples_and_one_that_is_missing_is_not_evaluated(tmp_path: Path) -> None:
    run = imported(
        tmp_path,
        sample("a"),
        sample("b", "I"),
        sample("a", "I", epoch=2),
        sample("b", "P", epoch=3),
        sample("a", epoch=3),
    )

    first, second = run
    assert run.record.repeat == 3
    assert [judgment.evaluation.score for judgment in first.judgments] == [1.0, 0.0, 1.0]
    assert [judgment.sample for judgment in first.judgments] == [0, 1, 2]
    assert [judgment.evaluation.score for judgment in second.judgments] == [0.0, None, 0.5]
    assert second.judgments[1].evaluation.reasoning == "the log has no sample of epoch 2"
    assert not first.pending
    assert not second.pending


def test_a_reducer_other_than_the_mean_is_noted(tmp_path: Path) -> None:
    spec = header()["eval"] | {"config": {"epochs": 2, "epochs_reducer": ["pass_at_2"]}}

    run = imported(tmp_path, sample(), sample(epoch=2), eval=spec)

    assert notes_of(run)[0] == (
        "log.json: Inspect reduced the epochs by pass_at_2; Evenhand takes the mean of a case's samples"
    )


def test_a_sample_that_ended_in_an_error_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-17")
    failed = sample(2, scores=None, output={"choices": []}, error={"message": "no sk-very-secret-17", "traceback": ""})

    run = imported(tmp_path, sample(1), failed)

    result = list(run)[1]
    assert result.outcome.status is Status.ERROR
    assert result.judgments[0].evaluation.error == "no_answer: the target failed: no ***"
    assert run.summary.cases.mean == 1.0


def test_a_scorer_that_has_no_score_for_a_sample_is_not_evaluated_there(tmp_path: Path) -> None:
    run = imported(tmp_path, sample(1), sample(2, scores={"other": {"value": 1}}))

    assert [[judgment.evaluation.score for judgment in result.judgments] for result in run] == [
        [1.0, None],
        [None, 1.0],
    ]
    assert next(iter(run)).judgments[1].evaluation.reasoning == "no score of this scorer is recorded"


def test_a_sample_that_was_declared_invalid_is_not_evaluated(tmp_path: Path) -> None:
    run = imported(tmp_path, sample(invalidation={"author": "ann", "reason": "leaked"}))

    assert only_case(run).judgments[0].evaluation.reasoning == "the sample was declared invalid: leaked"


def test_messages_attachments_choices_and_targets_are_carried_over(tmp_path: Path) -> None:
    asked = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "attachment://abc"}, {"type": "image", "image": "x"}]},
    ]

    run = imported(
        tmp_path,
        sample(
            input=asked, attachments={"abc": "Long text"}, choices=["Paris", "Rome"], target=["A", "B"], messages=[{}]
        ),
    )

    case = only_case(run).case
    assert [(message.role, message.content) for message in case.input_messages] == [  # type: ignore[union-attr]
        ("system", "Be brief."), ("user", "Long text\n[image]"),
    ]  # fmt: skip
    assert (case.reference_answer, case.metadata["targets"]) == ("A\nB", ["A", "B"])
    assert case.metadata["choices"] == ["Paris", "Rome"]
    assert notes_of(run)[0] == f"log.json: samples[0]: {NOT_CARRIED}: messages"


def test_the_tokens_of_graders_are_noted(tmp_path: Path) -> None:
    run = imported(tmp_path, sample(model_usage={"openai/gpt-5": {"input_tokens": 1}}))

    assert "the tokens of openai/gpt-5 are not carried over" in notes_of(run)[0]


def test_a_grader_that_is_named_is_the_judge(tmp_path: Path) -> None:
    spec = header()["eval"] | {"model_roles": {"grader": {"model": "openai/gpt-5"}}}

    assert imported(tmp_path, sample(), eval=spec).record.definition["judge"] == "openai/gpt-5"


def test_a_log_that_did_not_succeed_says_so(tmp_path: Path) -> None:
    run = imported(tmp_path, sample(), status="error", error={"message": "out of disk"})

    assert notes_of(run)[0] == "log.json: the status of the log is 'error': out of disk; samples may be missing"


def test_a_zip_file_is_read_one_sample_at_a_time_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    members: dict[str, object] = {"header.json": header(), "summaries.json": [], "reductions.json": []}
    members |= {f"samples/{number}_epoch_1.json": sample(number) for number in (10, 2, 1)}

    run = import_results(archive(tmp_path / "log.eval", members), store=None)

    assert [result.id for result in run] == ["1", "2", "10"]


def test_a_large_sample_in_a_folder_of_its_own_is_read(tmp_path: Path) -> None:
    shell = {key: value for key, value in sample("a").items() if key != "metadata"}
    members: dict[str, object] = {
        "header.json": header(), "samples/a_epoch_1/sample.json": shell, "samples/a_epoch_1/messages/0.json": [],
        "samples/a_epoch_1/metadata.json": {"continent": "Asia"},
    }  # fmt: skip

    run = import_results(archive(tmp_path / "log.eval", members), store=None)

    assert only_case(run).case.metadata["continent"] == "Asia"


@pytest.mark.parametrize("journal", [False, True])
def test_summaries_stand_in_for_samples_that_are_not_there(tmp_path: Path, journal: bool) -> None:
    summary = {key: value for key, value in sample().items() if key != "output"}
    members: dict[str, object] = {"header.json": header(), "summaries.json": [summary]}
    if journal:
        members = {"_journal/start.json": header(), "_journal/summaries/1.json": [summary]}

    run = import_results(archive(tmp_path / "log.eval", members), store=None)

    assert only_case(run).outcome.score == 1.0
    assert only_case(run).answers[0].text is None
    assert "only summaries of its samples" in notes_of(run)[0]
    assert any("status of the log is 'started'" in note for note in notes_of(run)) is journal


def zstandard_archive(path: Path, members: dict[str, object], *, spoil: bool = False) -> Path:
    """Write a zip file as Inspect does by now; Python itself can do so from 3.14 on."""
    parts, index = b"", b""
    for name, content in members.items():
        raw, encoded = json.dumps(content).encode(), name.encode()
        half = len(raw) // 2  # in two frames, as large members are
        packed = b"".join(pa.compress(piece, codec="zstd", asbytes=True) for piece in (raw[:half], raw[half:]))
        checksum = zlib.crc32(raw) ^ spoil
        fields = struct.pack("<HHHHHLLLHH", 63, 0, 93, 0, 0, checksum, len(packed), len(raw), len(encoded), 0)
        index += (
            b"PK\x01\x02" + struct.pack("<H", 63) + fields + struct.pack("<HHHLL", 0, 0, 0, 0, len(parts)) + encoded
        )
        parts += b"PK\x03\x04" + fields + encoded + packed
    count = len(members)
    path.write_bytes(
        parts + index + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(index), len(parts), 0)
    )
    return path


def test_a_zip_file_compressed_with_zstandard_is_read(tmp_path: Path) -> None:
    path = zstandard_archive(tmp_path / "log.eval", {"header.json": header(), "samples/1_epoch_1.json": sample()})

    assert only_case(import_results(path, store=None)).outcome.score == 1.0


def test_a_damaged_member_is_refused_by_name(tmp_path: Path) -> None:
    path = zstandard_archive(tmp_path / "log.eval", {"header.json": header()}, spoil=True)

    with pytest.raises(ConfigError, match=r"log\.eval: header\.json: it is damaged"):
        import_results(path, store=None)


def test_zstandard_without_the_library_is_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zstandard_archive(tmp_path / "log.eval", {"header.json": header()})
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setattr(recorded_file, "_HAS_ZSTANDARD", False)

    with pytest.raises(ConfigError, match=r"pip install 'evenhand\[tables\]', .* inspect log convert --to json"):
        import_results(path, store=None)


def bomb(path: Path) -> Path:
    return archive(path, {"header.json": header(), "samples/1_epoch_1.json": b"[" + b" " * 60_000_000})


def overlapping(path: Path) -> Path:
    """Many members that are the same bytes of the file."""
    archive(path, {"header.json": header(), "samples/1_epoch_1.json": b" " * 20_000_000})
    whole = bytearray(path.read_bytes())
    end = whole.rfind(b"PK\x05\x06")
    start = struct.unpack_from("<L", whole, end + 16)[0]
    entry = bytes(whole[whole.rfind(b"PK\x01\x02") : end])
    entries = b"".join(entry.replace(b"samples/1_epoch_1", b"samples/%d_epoch_1" % number) for number in range(1, 10))
    index = bytes(whole[start:end]) + entries.replace(b"samples/1_", b"samples/0_")
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 11, 11, len(index), start, 0)
    path.write_bytes(bytes(whole[:start]) + index + tail)
    return path


def with_huge_index(path: Path) -> Path:
    archive(path, {"header.json": header()})
    whole = bytearray(path.read_bytes())
    struct.pack_into("<L", whole, whole.rfind(b"PK\x05\x06") + 12, 500_000_000)
    path.write_bytes(whole)
    return path


def twice(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("header.json", json.dumps(header()))
        with pytest.warns(UserWarning, match="Duplicate name"):
            made.writestr("header.json", json.dumps(header()))
    return path


def encrypted(path: Path) -> Path:
    archive(path, {"header.json": header()})
    whole = bytearray(path.read_bytes())
    whole[whole.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(whole)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (bomb, "it claims to hold 60 MB, .* times its size; a log has at most"),
        (overlapping, "it claims to hold .* MB, .* times its size"),
        (with_huge_index, "its list of members has 500 MB"),
        (twice, "'header.json': two members have this name"),
        (encrypted, "'header.json': the member is encrypted"),
        (lambda path: archive(path, {"../header.json": "{}"}), "'../header.json': the name of a member leads out of"),
        (lambda path: archive(path, {"/etc/passwd": "{}"}), "'/etc/passwd': the name of a member leads out of"),
        (lambda path: archive(path, {"a": "{}"}, zipfile.ZIP_LZMA), "compressed by method 14"),
        (lambda path: archive(path, {"hello.txt": "x"}), "it has no header.json, so it is no log of Inspect's"),
        (lambda path: archive(path, {"header.json": "{}"}), "header.json: eval is missing"),
        (lambda path: archive(path, {"header.json": header()}), "the log has no samples, only totals"),
        (lambda path: archive(path, {"header.json": '{"a": 1, "a": 2}'}), "header.json: .* duplicate key 'a'"),
    ],
)
def test_a_zip_file_that_means_harm_is_refused_within_a_second(tmp_path: Path, make: Any, message: str) -> None:
    path = make(tmp_path / "log.eval")
    began = time.process_time()

    with pytest.raises(ConfigError, match=message):
        import_results(path, store=None)

    assert time.process_time() - began < 1


def test_a_zip_file_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", {"header.json": header(), "samples/1_epoch_1.json": sample()})
    path.write_bytes(path.read_bytes()[:-40])

    with pytest.raises(ConfigError, match=r"log\.eval: this zip file is damaged or was cut off"):
        import_results(path, store=None)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([5], r"samples\[0\] is 5; it must be an object"),
        ([sample(None)], r"samples\[0\]: id is None; it must be text or a whole number"),
        ([sample(epoch=0)], r"samples\[0\]: epoch is 0; it must be a whole number, 1 or more"),
        ([sample(), sample()], r"samples\[1\]: two samples have the id 1 and the epoch 1"),
        ([sample(scores=[1])], r"samples\[0\]: scores is \[1\]; it must be an object"),
        ([sample(scores={"match": 1})], r"scores\.match is 1; it must be an object with a value"),
        ([], "the log has no samples"),
        ({"a": 1}, r"samples is \{'a': 1\}; it must be a list"),
        ([sample(epoch=number) for number in range(1, 1_002)], "the log has 1,001 epochs; up to 1,000 are read"),
    ],
)
def test_a_sample_that_is_wrong_is_refused_with_its_place(tmp_path: Path, given: Any, message: str) -> None:
    (tmp_path / "log.json").write_text(json.dumps(header(samples=given)))

    with pytest.raises(ConfigError, match=message):
        import_results(tmp_path / "log.json", store=None)


def test_the_number_1_and_the_text_1_are_two_samples(tmp_path: Path) -> None:
    run = imported(tmp_path, sample(1), sample("1", "I"))

    assert [(result.id, result.outcome.score) for result in run] == [("1", 1.0), ("1 2", 0.0)]
