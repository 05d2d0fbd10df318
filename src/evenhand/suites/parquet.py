"""Reading Parquet and Arrow batch by batch, through pyarrow: what a file claims is checked before it is unpacked."""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from evenhand.domain.errors import ConfigError
from evenhand.suites.rows import mapped
from evenhand.suites.text_file import require_file
from evenhand.suites.values import MAX_BYTES, Fault, Piece, doubles

_PARQUET: Final = (".parquet", ".pq")
ARROW_TABLES: Final = (*_PARQUET, ".arrow", ".feather")

# Bounds on what a file claims about itself: no honest file comes near them.
_MOST_FOOTER: Final = 16_000_000
_MOST_UNPACKED: Final = 1_000_000_000
_MOST_VALUES: Final = 50_000_000
# What is unpacked may be so many times as large as what is packed, and there may be so many rows for each byte.
_MOST_TIMES: Final = 100
_MOST_ROWS_FOR_A_BYTE: Final = 100
_SMALL: Final = 64_000_000
_FEW_ROWS: Final = 1_000_000

_ROWS_AT_ONCE: Final = 1_000
_MOST_OF_A_BATCH: Final = 256_000_000
_BUFFER: Final = 1 << 16
_MAGIC: Final = b"ARROW1"
_DICTIONARY_PAGE: Final = 2
_ALIKE: Final = "DELTA_BYTE_ARRAY"
_NEXT_INTEGER: Final = 0x15
TOO_LARGE: Final = f"this row has more than {MAX_BYTES // 1_000_000} MB; split it"
# A value of Python takes so many bytes beside its text.
_BYTES_OF_A_VALUE: Final = 16


def read_arrow_table(path: Path, check_heading: Callable[[list[str]], None]) -> Iterator[Piece]:
    """Read a table row by row; the line of a row is its number. A null is None."""
    require_file(path)
    pyarrow = _pyarrow(str(path))
    batches = _parquet_batches if path.suffix.lower() in _PARQUET else _arrow_batches
    try:
        rows = (row for batch in batches(path, check_heading) for row in _rows(batch))
        yield from (_piece(row, number) for number, row in enumerate(rows, 1))
    except ConfigError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, struct.error) as error:  # damaged, or text that is not UTF-8
        raise ConfigError(f"{path}: it cannot be read: {error!s:.300}") from None


def table_rows(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of a pyarrow table one by one."""
    _check_types(table.schema)
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        for row in _rows(batch):
            if row is None:
                raise ConfigError(TOO_LARGE)
            yield row


def _piece(row: dict[str, Any] | None, number: int) -> Piece:
    if row is None:
        return Piece(number, None, (Fault(number, TOO_LARGE),))
    return Piece(number, mapped(row, number))


def _pyarrow(name: str, module: str = "pyarrow") -> Any:
    try:
        return importlib.import_module(module)  # an extra, slow to load, and without types
    except ImportError:
        raise ConfigError(f"{name}: reading it needs pyarrow: pip install 'evenhand[tables]'") from None


def _checked(path: Path, schema: Any, check_heading: Callable[[list[str]], None]) -> None:
    """Refuse columns that no case can have."""
    names = list(schema.names)
    for name in doubles(names):
        raise ConfigError(f"{path}: two columns have the name {name!r:.80}; rename one")
    try:
        _check_types(schema)
        check_heading(names)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


# Parquet


def _parquet_batches(path: Path, check_heading: Callable[[list[str]], None]) -> Iterator[Any]:
    size = _check_footer(path)
    parquet = _pyarrow(str(path), "pyarrow.parquet")
    with parquet.ParquetFile(path, buffer_size=_BUFFER) as file:
        _check_claims(path, file.metadata, size)
        _checked(path, file.schema_arrow, check_heading)
        flat = set(file.schema_arrow.names)
        groups = [_Group.of(path, file.metadata.row_group(place), flat) for place in range(file.num_row_groups)]
    shared = sorted({column for group in groups for column in group.shared})
    with _opened(path, shared, frugal=not any(group.begins_alike for group in groups)) as file:
        for place, group in enumerate(groups):
            yield from file.iter_batches(batch_size=group.rows_at_once, row_groups=[place], use_threads=False)


def _opened(path: Path, shared: list[str], *, frugal: bool) -> Any:
    """Open a file to read it; frugally, memory returns to the system at once, of which pyarrow's allocator keeps much.

    Not so where texts grow far beyond what is stored: pyarrow's own lets them grow in place.
    """
    pyarrow, parquet = _pyarrow(str(path)), _pyarrow(str(path), "pyarrow.parquet")
    usual = pyarrow.default_memory_pool()
    if frugal:
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())  # which a reader takes when it is made
    try:
        return parquet.ParquetFile(path, read_dictionary=shared, buffer_size=_BUFFER)
    finally:
        pyarrow.set_memory_pool(usual)


class _Group(NamedTuple):
    """How a row group is read: so many rows at once, and these columns as they are stored, each text once.

    A text is stored once for all rows that share it, so what a batch unpacks to has no bound but the largest text times
    the number of values. In a list or a mapping, all values may be in one row.
    """

    rows_at_once: int
    shared: tuple[str, ...]
    # Whether texts are stored as what follows the beginning of the one before.
    begins_alike: bool

    @classmethod
    def of(cls, path: Path, group: Any, flat: set[str]) -> _Group:
        chunks = [group.column(place) for place in range(group.num_columns)]
        texts = [chunk for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"]
        with path.open("rb") as file:
            largest = {chunk.path_in_schema: _largest_text(file, chunk) for chunk in texts}
        shared = tuple(
            chunk.path_in_schema
            for chunk in texts
            if chunk.path_in_schema not in flat and largest[chunk.path_in_schema] * chunk.num_values > _MOST_OF_A_BATCH
        )
        together = sum(size for column, size in largest.items() if column not in shared)
        begins_alike = any(_ALIKE in chunk.encodings for chunk in texts)
        return cls(min(max(_MOST_OF_A_BATCH // max(together, 1), 1), _ROWS_AT_ONCE), shared, begins_alike)


def _largest_text(file: BinaryIO, chunk: Any) -> int:
    """Return a bound on the size of a text that many rows may share; 0 if each is stored by itself."""
    whole = int(chunk.total_uncompressed_size)
    if _ALIKE in chunk.encodings:  # a text may begin as the one before it
        return whole
    first = min(chunk.data_page_offset, chunk.dictionary_page_offset or chunk.data_page_offset)
    file.seek(max(first, 0))
    try:
        kind, size = _page_header(file.read(16))
    except (IndexError, ValueError):
        return whole
    return size if kind == _DICTIONARY_PAGE else 0


def _page_header(data: bytes) -> tuple[int, int]:
    """Return the kind of a page and its unpacked size: the first two fields of its header, in Thrift's compact form."""
    at = 0
    fields = []
    for _ in range(2):
        if data[at] != _NEXT_INTEGER:
            raise ValueError("no header of a page")
        number, shift = 0, 0
        while True:
            at += 1
            number |= (data[at] & 0x7F) << shift
            shift += 7
            if not data[at] & 0x80:
                break
        at += 1
        fields.append(number >> 1)
    return fields[0], fields[1]


def _check_footer(path: Path) -> int:
    """Refuse a file whose description alone is too large to be read; return the size of the file."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 8, 0))
        end = file.read(8)
    if len(end) < 8 or end[4:] != b"PAR1":
        raise ConfigError(f"{path}: this is no Parquet file, or only a part of one")
    (footer,) = struct.unpack("<I", end[:4])
    if footer > _MOST_FOOTER:
        raise ConfigError(f"{path}: its footer has {footer:,} bytes; write the file with larger row groups")
    return size


def _check_claims(path: Path, metadata: Any, size: int) -> None:
    """Refuse what would unpack to far more than any table of cases."""
    if metadata.num_rows > _FEW_ROWS and metadata.num_rows > _MOST_ROWS_FOR_A_BYTE * size:
        raise ConfigError(f"{path}: it claims {metadata.num_rows:,} rows in {size:,} bytes")
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            chunk = group.column(place)
            column = f"row group {number + 1}, column {chunk.path_in_schema!r:.80}"
            _check_unpacked(path, column, chunk.total_uncompressed_size, min(chunk.total_compressed_size, size))
            if chunk.num_values > _MOST_VALUES:
                raise ConfigError(f"{path}: {column} has {chunk.num_values:,} values; write smaller row groups")


def _check_unpacked(path: Path, what: str, unpacked: int, packed: int) -> None:
    if unpacked > _MOST_UNPACKED:
        most = f"at most {_MOST_UNPACKED // 1_000_000:,} MB are read at once"
        raise ConfigError(f"{path}: {what} unpacks to {unpacked // 1_000_000:,} MB; {most}: write smaller row groups")
    if unpacked > _SMALL and unpacked > _MOST_TIMES * packed:
        raise ConfigError(f"{path}: {what} unpacks from {packed:,} bytes to {unpacked:,}, which no table of cases does")


# Arrow


def _arrow_batches(path: Path, check_heading: Callable[[list[str]], None]) -> Iterator[Any]:
    pyarrow, ipc = _pyarrow(str(path)), _pyarrow(str(path), "pyarrow.ipc")
    with pyarrow.memory_map(str(path)) as source:
        is_file = source.read(len(_MAGIC)) == _MAGIC
        _check_messages(path, ipc, source, start=8 if is_file else 0)
        source.seek(0)
        reader = ipc.open_file(source) if is_file else ipc.open_stream(source)
        _checked(path, reader.schema, check_heading)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        for batch in batches:
            batch.validate(full=True)  # places in a file from elsewhere may lead anywhere
            for first in range(0, batch.num_rows, _ROWS_AT_ONCE):
                yield batch.slice(first, _ROWS_AT_ONCE)


def _check_messages(path: Path, ipc: Any, source: Any, *, start: int) -> None:
    """Look at the sizes that each part of an Arrow file claims."""
    source.seek(start)
    number = 0
    while True:
        try:
            message = ipc.read_message(source)
        except EOFError:
            return
        if message.type in ("record batch", "dictionary"):
            number += 1
            body = memoryview(message.body)
            unpacked = sum(_unpacked_sizes(memoryview(message.metadata), body, message.type == "dictionary"))
            _check_unpacked(path, f"batch {number}", unpacked, len(body))


def _unpacked_sizes(metadata: memoryview, body: memoryview, is_dictionary: bool) -> Iterator[int]:
    """Yield the size of each compressed buffer of a message; its first eight bytes are that."""
    header = _field(metadata, _pointer(metadata, 0), 2)
    batch = None if header is None else _pointer(metadata, header)
    if is_dictionary and batch is not None:
        data = _field(metadata, batch, 1)
        batch = None if data is None else _pointer(metadata, data)
    if batch is None or _field(metadata, batch, 3) is None or (listed := _field(metadata, batch, 2)) is None:
        return
    vector = _pointer(metadata, listed)
    (count,) = struct.unpack_from("<I", metadata, vector)
    for offset, length in struct.iter_unpack("<qq", metadata[vector + 4 : vector + 4 + 16 * count]):
        if length >= 8:
            yield max(struct.unpack_from("<q", body, offset)[0], length)


def _pointer(data: memoryview, at: int) -> int:
    """Follow a pointer of a flatbuffer, which is relative to its place."""
    return int(at + struct.unpack_from("<I", data, at)[0])


def _field(data: memoryview, table: int, number: int) -> int | None:
    """Return where a field of a table of a flatbuffer is; None if it is left out."""
    layout = table - struct.unpack_from("<i", data, table)[0]
    (size,) = struct.unpack_from("<H", data, layout)
    place = 4 + 2 * number
    if place + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", data, layout + place)
    return table + offset if offset else None


# Values


def _rows(batch: Any) -> Iterator[dict[str, Any] | None]:
    """Yield the rows of a batch, None for one that is too large; so many at once as take no more than a case may."""
    pending = [batch]
    while pending:
        part = pending.pop()
        if sum(map(_unpacked, part.columns)) <= MAX_BYTES:
            yield from _plain(part).to_pylist()
        elif part.num_rows == 1:
            yield None
        else:
            half = part.num_rows // 2
            pending += [part.slice(half), part.slice(0, half)]


def _unpacked(array: Any) -> int:
    """Return about how many bytes values take in Python."""
    types = _pyarrow("", "pyarrow.types")
    kind = array.type
    own = _BYTES_OF_A_VALUE * len(array)
    if types.is_dictionary(kind):
        if not _is_text(types, array.dictionary.type):
            return own
        compute = _pyarrow("", "pyarrow.compute")  # large, and few tables need it
        return own + (compute.sum(compute.binary_length(array.dictionary).take(array.indices)).as_py() or 0)
    if _is_text(types, kind):
        return own + int(array.nbytes)
    if types.is_struct(kind):
        return own + sum(map(_unpacked, array.flatten()))
    return own + _unpacked(array.flatten()) if _is_list(types, kind) else own


def _plain(batch: Any) -> Any:
    """Return a batch with its texts unpacked, which are then read much faster."""
    pyarrow, types = _pyarrow(""), _pyarrow("", "pyarrow.types")
    columns = [column.dictionary_decode() if types.is_dictionary(column.type) else column for column in batch.columns]
    return pyarrow.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _check_types(schema: Any) -> None:
    types = _pyarrow("", "pyarrow.types")
    for field in schema:
        for name, kind in _unreadable(types, field.name, field.type):
            mend = "write it as text, or leave it out"
            raise ConfigError(f"column {name!r:.80} has the type {kind!s:.80}, which no case can have; {mend}")


def _unreadable(types: Any, name: str, kind: Any) -> Iterator[tuple[str, Any]]:
    """Find the parts of a column that are no text, number, date, list or mapping."""
    if types.is_dictionary(kind) or _is_list(types, kind):
        yield from _unreadable(types, name, kind.value_type)
    elif types.is_struct(kind):
        for place in range(kind.num_fields):
            field = kind.field(place)
            yield from _unreadable(types, f"{name}.{field.name}", field.type)
    elif not (
        _is_text(types, kind)
        or types.is_boolean(kind)
        or types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_null(kind)
        or types.is_date(kind)
        or types.is_time(kind)
        or types.is_timestamp(kind)
        or types.is_decimal(kind)
    ):
        yield name, kind


def _is_text(types: Any, kind: Any) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _is_list(types: Any, kind: Any) -> bool:
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))
