"""Cells of a Parquet file: its columns become the texts of a CSV, batch by batch."""

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Any, BinaryIO, TypeVar

import msgspec
import polars as pl
from polars.exceptions import PanicException, PolarsError

from adapters.sheets.table import Table
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.files.csv_rows import Cells
from domain.entities.files.file_headers import MOST_COLUMNS, SAMPLE_ROWS, fields_by_title, is_passed_over
from domain.entities.files.options import ImportOptions
from domain.entities.kinds import BITS, LISTS, Kind
from domain.entities.sheets import LARGEST_INFLATED, ensure_row_count
from domain.errors import BadRequest, FieldError, ValidationError

T = TypeVar("T")

AT_A_TIME = 500
MOST_SECONDS = 30
"""Seconds for a batch of rows."""
LARGEST_FOOTER = 8 * 1024 * 1024
_MAGIC, _ENCRYPTED = b"PAR1", b"PARE"
_LENGTH = 4  # bytes of the footer's length, before the last magic

Texts = Callable[[pl.Series], Sequence[str | None]]

_MOMENT, _FINER = "%Y-%m-%dT%H:%M:%S%.6fZ", "%Y-%m-%dT%H:%M:%S%.9fZ"
_PLAIN = (pl.String, pl.Categorical, pl.Enum, pl.Null)


def read_parquet(file: BinaryIO, model: EntityModel, options: ImportOptions) -> Table:
    """Read the table with the column names as row 1. Raises BadRequest, ValidationError, PayloadTooLarge.

    The first data row is row 2, as in CSV. Only a dry run reads samples.
    """
    first: list[tuple[int, Cells]] = []
    return Table(_guarded_rows(file, model, options, first), first)


def _guarded_rows(
    file: BinaryIO, model: EntityModel, options: ImportOptions, first: list[tuple[int, Cells]]
) -> Iterator[tuple[int, Cells]]:
    _ensure_no_options(options)
    _ensure_whole(file)
    file.seek(0)
    try:
        yield from _rows(_within_time(lambda: pl.scan_parquet(file, glob=False)), model, options, first)
    # Catch PanicException separately: it is not an Exception. Hide the library's messages: they describe its source
    # code, not the file.
    except (PolarsError, PanicException, OSError) as error:
        raise BadRequest("The file is not a readable Parquet file: it is damaged or encrypted.") from error


def _ensure_no_options(options: ImportOptions) -> None:
    if options.sheet is not None:
        raise ValidationError.on("options.sheet", "is for xlsx; this file is Parquet")
    if options.delimiter is not None or options.encoding is not None:
        name = "delimiter" if options.delimiter is not None else "encoding"
        raise ValidationError.on(f"options.{name}", "is for CSV; this file is Parquet")
    given = {"decimal": options.decimal == ",", "dateFormat": options.date_format, "headerRow": options.header_row}
    for name, value in given.items():
        if value:
            raise ValidationError.on(f"options.{name}", "is for CSV and xlsx; this file is Parquet")


def _ensure_whole(file: BinaryIO) -> None:
    """Check both ends of the file before memory is allocated for its footer."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    start = file.read(len(_MAGIC))
    file.seek(max(0, size - _LENGTH - len(_MAGIC)))
    end = file.read()
    if start == _ENCRYPTED or end.endswith(_ENCRYPTED):
        raise BadRequest("The file is encrypted: write it without encryption.")
    if size < 3 * len(_MAGIC) or not end.endswith(_MAGIC):
        raise BadRequest("The file is a damaged Parquet: its end is missing.")
    if start != _MAGIC:
        raise BadRequest("The file is a damaged Parquet: it begins with other bytes than one does.")
    footer = int.from_bytes(end[:_LENGTH], "little")
    if footer > size - _LENGTH - 2 * len(_MAGIC):
        raise BadRequest("The file is a damaged Parquet: its footer is longer than the file.")
    if footer > LARGEST_FOOTER:
        raise BadRequest(f"The file's footer has {footer} bytes; at most {LARGEST_FOOTER} are taken.")


def _rows(
    scan: pl.LazyFrame, model: EntityModel, options: ImportOptions, first: list[tuple[int, Cells]]
) -> Iterator[tuple[int, Cells]]:
    schema = _within_time(scan.collect_schema)
    names = schema.names()
    if len(names) > MOST_COLUMNS:
        raise BadRequest(f"The file has {len(names)} columns; at most {MOST_COLUMNS} are taken.")
    ensure_row_count(model, _within_time(scan.select(pl.len()).collect).item())
    if options.dry_run:
        first += [(1, [*names]), *enumerate(_within_time(lambda: _sample_rows(scan, schema)), start=2)]
    yield 1, [*names]
    # The caller has checked the names, so read only known columns and skip ignored ones.
    texts = _texts_of_columns(schema, fields_by_title(model, names, options.columns), options)
    empty: Cells = [None] * len(names)
    # By position: the library treats some names, such as ^.*$, as patterns.
    taken = scan.select(pl.nth(*texts))
    number, inflated = 1, 0
    batches = iter(taken.collect_batches(chunk_size=AT_A_TIME, engine="streaming"))
    while (batch := _within_time(lambda: next(batches, None))) is not None:
        inflated += _size(batch)
        if inflated > LARGEST_INFLATED:
            raise BadRequest(f"The file inflates past {LARGEST_INFLATED // 2**20} MiB.")
        columns = [convert(column) for convert, column in zip(texts.values(), batch, strict=True)]
        for row in zip(*columns, strict=True):
            number += 1
            cells = empty.copy()
            for place, cell in zip(texts, row, strict=True):
                cells[place] = cell
            yield number, cells


def _sample_rows(scan: pl.LazyFrame, schema: pl.Schema) -> list[Cells]:
    """Return the first rows; columns of unsupported types are empty."""
    texts = {place: read for place, kind in enumerate(schema.dtypes()) if (read := _texts_of(kind, Kind.TEXTS))}
    columns: list[Sequence[str | None]] = [[]] * len(schema)
    if texts:
        first = scan.select(pl.nth(*texts)).head(SAMPLE_ROWS).collect()
        for (place, convert), column in zip(texts.items(), first, strict=True):
            columns[place] = convert(column)
    return [[*cells] for cells in zip_longest(*columns)]


def _within_time(work: Callable[[], T]) -> T:
    """Run the work; a signal ends the process at the time limit."""
    # If memory runs out, the library's threads may wait for each other forever. They use no CPU time, so its limit does
    # not end them.
    signal.alarm(MOST_SECONDS)
    try:
        return work()
    finally:
        signal.alarm(0)


def _texts_of_columns(
    schema: pl.Schema, fields: Sequence[FieldModel | None], options: ImportOptions
) -> dict[int, Texts]:
    """Converters by column position. Raises ValidationError for columns of unsupported types."""
    found: dict[int, Texts] = {}
    errors: list[FieldError] = []
    for place, ((name, kind), field) in enumerate(zip(schema.items(), fields, strict=True)):
        if field is None or is_passed_over(field, options):
            continue
        texts = _texts_of(kind, field.kind)
        if texts is None:
            errors.append(FieldError(name, f"has the type {str(kind)[:100]}, from which no {field.kind.value} is read"))
        else:
            found[place] = texts
    if errors:
        raise ValidationError(fields=errors)
    return found


def _texts_of(kind: pl.DataType, field: Kind) -> Texts | None:
    if isinstance(kind, pl.List | pl.Array):
        return _lists if field in LISTS and isinstance(kind.inner, _PLAIN) else None
    if isinstance(kind, pl.Datetime):
        return _days if field is Kind.DATE else _moments
    if kind.is_float():
        return _of_floats(field)
    if kind == pl.Binary and field is Kind.UUID:
        return _uuids
    if isinstance(kind, (*_PLAIN, pl.Boolean, pl.Date)) or kind.is_integer() or kind.is_decimal():
        return _plain
    return None


def _of_floats(field: Kind) -> Texts:
    if field in BITS:
        return _whole_numbers
    return _plain_digits if field is Kind.DECIMAL else _plain


def _plain(column: pl.Series) -> Sequence[str | None]:
    return column.cast(pl.String).to_list()


def _whole_numbers(column: pl.Series) -> Sequence[str | None]:
    # Programs without nulls in integers write 3 as 3.0.
    return [text and text.removesuffix(".0") for text in _plain_digits(column)]


def _plain_digits(column: pl.Series) -> Sequence[str | None]:
    """Without exponents, which a text has only for a rounded number."""
    return [format(Decimal(text), "f") if text and "e" in text else text for text in _plain(column)]


def _moments(column: pl.Series) -> Sequence[str | None]:
    """UTC texts; a timestamp without time zone counts as UTC."""
    texts = _in_utc(column).dt.to_string(_MOMENT).to_list()
    finer = column.dt.nanosecond() % 1_000
    if not (finer != 0).any():
        return texts
    # The library would round finer values. In this format the text ends with "ns", so the row check refuses it.
    exact = _in_utc(column).dt.to_string(_FINER).to_list()
    return [f"{long}ns" if rest else text for text, long, rest in zip(texts, exact, finer, strict=True)]


def _days(column: pl.Series) -> Sequence[str | None]:
    """Return midnights as dates and other times as timestamps, so that the row check refuses these."""
    midnights = (_in_utc(column).dt.time().cast(pl.Int64) == 0).to_list()
    days = _in_utc(column).dt.to_string("%Y-%m-%d").to_list()
    return [
        day if is_midnight else text for day, is_midnight, text in zip(days, midnights, _moments(column), strict=True)
    ]


def _in_utc(column: pl.Series) -> pl.Series:
    zone: Any = column.dtype
    return column if zone.time_zone is None else column.dt.convert_time_zone("UTC")


def _uuids(column: pl.Series) -> Sequence[str | None]:
    return column.bin.encode("hex").str.replace("^(.{8})(.{4})(.{4})(.{4})(.{12})$", "$1-$2-$3-$4-$5").to_list()


def _lists(column: pl.Series) -> Sequence[str | None]:
    return [None if value is None else msgspec.json.encode(value).decode() for value in column.to_list()]


def _size(batch: pl.DataFrame) -> int:
    """Bytes of the batch's texts."""
    # Count the bytes before creating the texts: thousands of rows may share one long text.
    return sum(_length(column) for column in batch)


def _length(column: pl.Series) -> int:
    if isinstance(column.dtype, pl.List | pl.Array):
        items = column.explode()
        return _length(items) + len(items)
    if column.dtype == pl.Binary:
        return 2 * int(column.bin.size().sum())
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    return int(column.str.len_bytes().sum()) if column.dtype == pl.String else 8 * len(column)
