"""Parquet and Arrow files and frames: rows like those of other tables, and no file unpacks to more than it should."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.feather as feather  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from evenhand import Contains, evaluate
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import problems, read_suite

MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
TABLE = pa.table(
    {
        "id": [1, 2],
        "input": [MESSAGES, MESSAGES[1:]],
        "output": ["x", "y"],
        "rubrics": [["Is kind"], None],
        "latency": [1.5, None],
        "votes": [3, None],
        "day": [dt.date(2026, 1, 2), None],
        "price": [decimal.Decimal("1.50"), None],
        "tags": [["a", "b"], []],
    }
)


def polars_frame(columns: dict[str, Any]) -> Any:
    """Make a data frame of Polars, which starts a thread where it is imported: no worker could be forked after that."""
    import polars as pl

    return pl.DataFrame(columns)


def write(table: Any, name: str, **options: Any) -> None:
    path = Path(name)
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(table, name, **options)
    elif path.suffix == ".feather":
        feather.write_feather(table, name, **options)
    else:
        with pa.ipc.new_stream(name, table.schema) as file:
            file.write_table(table)


def suite(name: str, more: str = "") -> str:
    Path("suite.yaml").write_text(f"evaluators: [{{type: contains, value: x}}]\ncases: {name}\n{more}")
    return "suite.yaml"


def read(name: str, more: str = "") -> list[Case]:
    return [planned.case for planned in read_suite(suite(name, more)).cases()]


@pytest.mark.parametrize("name", ["data.parquet", "data.pq", "data.feather", "data.arrow"])
def test_rows_are_cases(name: str) -> None:
    write(TABLE, name)

    first, second = read(name)

    assert (first.id, first.candidate_answer, first.latency) == ("1", "x", 1.5)
    assert [getattr(message, "content", None) for message in first.input_messages] == ["Be brief.", "Why?"]
    assert first.metadata == {"votes": 3, "day": "2026-01-02", "price": "1.50", "tags": ["a", "b"]}
    assert (second.id, second.latency, second.metadata, second.rubrics) == ("2", None, {"tags": []}, ())


def test_columns_and_lines_are_those_of_other_tables() -> None:
    write(pa.table({"key": ["a", "b", "a"], "q": ["1", "2", "3"], "gold": ["x", "y", "z"]}), "data.parquet")

    found = problems(suite("data.parquet", "columns: {id: key, input: q, reference_answer: gold}\n"))

    assert found == ['data.parquet:3, case "a": duplicate id, first in line 1; ids must differ']


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"input": [b"x"]}, "data.parquet: column 'input' has the type binary, which no case can have; write it as text, or leave it out"),
        ({"input": ["x"], "image": [{"bytes": b"x", "path": "y"}]}, "data.parquet: column 'image.bytes' has the type binary, which no case can have; write it as text, or leave it out"),
        ({"input": ["x"], "wait": [dt.timedelta(1)]}, "data.parquet: column 'wait' has the type duration[us], which no case can have; write it as text, or leave it out"),
        ({"inptu": ["x"]}, "data.parquet: no key 'inptu'; did you mean 'input'?"),
        ({"output": ["x"], "ground_truth": ["x"]}, "data.parquet: no key 'ground_truth'; it is called 'reference_answer' here, or write columns: {reference_answer: ground_truth}"),
        ({"output": [None]}, "data.parquet:1, case 1: output is missing; give text, leave out the row, or give a target that makes answers"),
        ({"output": [5]}, "data.parquet:1, case 1: output must be text, not 5; write it in quotes"),
    ],
)  # fmt: skip
def test_what_no_case_can_have_is_refused(table: dict[str, Any], told: str) -> None:
    if table == {"output": [None]}:
        write(pa.table({"output": pa.array([None], pa.string())}), "data.parquet")
    else:
        write(pa.table(table), "data.parquet")

    assert problems(suite("data.parquet"))[0] == told


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("data.parquet", b"", "data.parquet: this is no Parquet file, or only a part of one"),
        ("data.parquet", b"PAR1" + b"x" * 100, "data.parquet: this is no Parquet file, or only a part of one"),
        ("data.parquet", b"PAR1xxxx\x04\0\0\0PAR1", "data.parquet: it cannot be read: "),
        ("data.parquet", b"PAR1" + b"\xff" * 8 + b"PAR1", "data.parquet: its footer has 4,294,967,295 bytes"),
        ("data.arrow", b"ARROW1\0\0" + b"x" * 100, "data.arrow: it cannot be read: "),
        ("data.feather", b"FEA1" + b"x" * 100, "data.feather: it cannot be read: "),
        ("data.arrow", b"", "data.arrow: it cannot be read: "),
    ],
)
def test_a_damaged_file_is_refused(name: str, content: bytes, told: str) -> None:
    Path(name).write_bytes(content)

    (found,) = problems(suite(name))

    assert found.startswith(told)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["data.parquet", "data.feather", "data.arrow"])
def test_a_file_with_any_byte_changed_is_read_or_refused(name: str) -> None:
    write(pa.table({"input": ["Why?", "Who?"], "tags": [["a"], ["b"]]}), name)
    content = Path(name).read_bytes()

    for place in range(0, len(content), 7):
        Path(name).write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        assert isinstance(problems(suite(name)), list)


def shared(text: str, rows: int) -> Any:
    """Make a column in which all rows have one text."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


LIMITED = """
    import resource, sys, time
    resource.setrlimit(resource.RLIMIT_DATA, (1_500_000_000, 1_500_000_000))
    from evenhand.suites.suite import check
    import pyarrow.parquet, pyarrow.feather
    began = time.process_time()
    found = check("suite.yaml").problems
    print(time.process_time() - began < 1, found[0])
"""


def refusal(name: str) -> str:
    """Check a suite in a process that may take little memory; return whether it took under a second, and what it says."""
    suite(name)
    command = [sys.executable, "-c", textwrap.dedent(LIMITED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def bombs() -> Iterator[Any]:
    yield pytest.param(
        "data.parquet", lambda: shared("x" * 100_000_000, 1000), {"compression": "zstd"},
        "row group 1, column 'input' unpacks from", id="a text that many rows share",
    )  # fmt: skip
    yield pytest.param(
        "data.parquet", lambda: pa.array(["x" * 1_000_000]).take(pa.array([0] * 1_010)),
        {"compression": "zstd", "use_dictionary": False, "data_page_size": 1 << 30},
        "row group 1, column 'input' unpacks to 1,010 MB; at most 1,000 MB are read at once", id="a page", marks=pytest.mark.long,
    )  # fmt: skip
    yield pytest.param(
        "data.feather", lambda: pa.array(["x" * 1_000_000]).take(pa.array([0] * 1_010)), {"compression": "zstd"},
        "batch 1 unpacks to 1,010 MB; at most 1,000 MB are read at once", id="a batch", marks=pytest.mark.long,
    )  # fmt: skip
    yield pytest.param(
        "data.parquet", lambda: pa.nulls(30_000_000, pa.string()), {"compression": "zstd", "row_group_size": 30_000_000},
        "it claims 30,000,000 rows in", id="rows of nothing",
    )  # fmt: skip
    yield pytest.param(
        "data.parquet",
        lambda: pa.ListArray.from_arrays([0, 60_000_000], pa.nulls(60_000_000, pa.int8())), {"compression": "zstd"},
        "row group 1, column 'input.list.element' has 60,000,000 values", id="a long list", marks=pytest.mark.long,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("name", "column", "options", "told"), [*bombs()])
def test_a_small_file_that_unpacks_to_gigabytes_is_refused_within_a_second(
    name: str, column: Any, options: dict[str, Any], told: str
) -> None:
    write(pa.table({"input": column()}), name, **options)
    assert Path(name).stat().st_size < 200_000

    assert refusal(name).startswith(f"True {name}: {told}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        "column",
        *(pytest.param(kind, marks=pytest.mark.long) for kind in ("in lists", "in mappings", "beginning alike")),
    ],
)
def test_a_text_that_many_rows_share_takes_its_memory_once(kind: str) -> None:
    text = shared("x" * 5_000_000, 400)
    column = {
        "column": lambda: text,
        "in lists": lambda: pa.ListArray.from_arrays(list(range(401)), text),
        "in mappings": lambda: pa.StructArray.from_arrays([text], ["a"]),
        "beginning alike": text.dictionary_decode,
    }[kind]()
    encoding = {"use_dictionary": False, "column_encoding": {"long": "DELTA_BYTE_ARRAY", "output": "PLAIN"}}
    table = pa.table({"output": ["x"] * 400, "long": column})
    write(table, "data.parquet", compression="zstd", **(encoding if kind == "beginning alike" else {}))
    program = (
        LIMITED.partition("    began")[0]
        + """
    from pathlib import Path
    from evenhand.suites.parquet import read_arrow_table
    rows = read_arrow_table(Path("data.parquet"), lambda names: None)
    print(sum(not piece.faults for piece in rows))
    """
    )

    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)

    assert (done.stdout.strip(), done.stderr[-300:]) == ("400", "")


def test_a_row_that_is_larger_than_a_case_may_be_is_refused() -> None:
    write(pa.table({"id": ["a", "b", "c"], "input": ["x", "y" * 11_000_000, "z"]}), "data.parquet")

    assert problems(suite("data.parquet")) == ["data.parquet:2, case 2: this row has more than 10 MB; split it"]


@pytest.mark.slow
def test_without_pyarrow_the_extra_is_named() -> None:
    write(TABLE, "data.parquet")
    suite("data.parquet")
    program = "import sys; sys.modules['pyarrow'] = None\nfrom evenhand.suites.suite import problems\nprint(problems('suite.yaml'))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "data.parquet: reading it needs pyarrow: pip install 'evenhand[tables]'" in done.stdout


class Dataset:
    """A data set as Hugging Face has them: an iterable of mappings that knows its columns."""

    column_names = ("id", "q", "output", "votes")

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows."""
        yield {"id": 1, "q": "Why?", "output": "x", "votes": 3}
        yield {"id": 2, "q": "Who?", "output": "y", "votes": None}


ROWS: dict[str, list[Any]] = {"id": [1, 2], "q": ["Why?", "Who?"], "output": ["x", "y"], "votes": [3, None]}


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(lambda: pd.DataFrame(ROWS), id="pandas"),
        pytest.param(lambda: pd.DataFrame(ROWS).convert_dtypes(), id="pandas with its own types"),
        pytest.param(lambda: polars_frame(ROWS), id="polars"),
        pytest.param(lambda: pa.table(ROWS), id="pyarrow"),
        pytest.param(Dataset, id="Hugging Face"),
    ],
)
def test_tables_of_python_are_taken_row_by_row(table: Any) -> None:
    run = evaluate(table(), Contains(value="x"), columns={"input": "q"}, store=None)

    assert {one.id: (one.case.question, dict(one.case.metadata), one.outcome.score) for one in run} == {
        "1": ("Why?", {"votes": 3}, 1.0),
        "2": ("Who?", {}, 0.0),
    }


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(lambda: pd.DataFrame({"output": ["x", None]}), id="pandas"),
        pytest.param(lambda: polars_frame({"output": ["x", None]}), id="polars"),
        pytest.param(lambda: pa.table({"output": ["x", None]}), id="pyarrow"),
    ],
)
def test_an_answer_that_a_table_lacks_is_missed(table: Any) -> None:
    with pytest.raises(ConfigError, match="case 2: output is missing"):
        evaluate(table(), Contains(value="x"), store=None)


class Frame(pd.DataFrame):  # type: ignore[misc]
    """A frame that cannot be copied as a whole."""

    def to_dict(self, *_: Any, **__: Any) -> Any:
        """Refuse."""
        raise AssertionError("the whole frame is copied")


def test_a_frame_is_not_copied() -> None:
    (result,) = evaluate(Frame({"output": ["x"], "votes": [math.nan]}), Contains(value="x"), store=None)

    assert result.case.metadata == {}


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (lambda: pd.DataFrame([["x", "y"]], columns=["output", "output"]), "two columns have the name 'output'; rename one"),
        (lambda: pa.table({"output": ["x"], "raw": [b"x"]}), "column 'raw' has the type binary, which no case can have; write it as text, or leave it out"),
        (lambda: polars_frame({"output": ["x"], "inptu": ["x"]}), "case 1: no key 'inptu'; did you mean 'input'?"),
        (lambda: polars_frame({"output": ["x"]}).lazy(), "cases must be a list of Case or of mappings"),
    ],
)  # fmt: skip
def test_a_table_of_python_that_is_wrong_is_refused(table: Any, told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        evaluate(table(), Contains(value="x"), store=None)

    assert str(raised.value).startswith(told)
