"""Worker that writes a Parquet file in row groups, with a few in memory at a time.

``python -m adapters.sheets.parquet_writer DESCRIPTOR FOLDER`` reads its job as a line from standard input, then the
rows.
"""

import resource
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import polars as pl
from msgspec import Struct
from polars.io.plugins import register_io_source

from adapters.sheets.frames import WriteJob
from adapters.sheets.writing_process import run
from domain.entities.kinds import Kind

PIECE = 1024 * 1024
"""Bytes of rows converted to columns at once."""
GROUP_BYTES = 16 * 1024 * 1024
MOST_GROUP_ROWS, FEWEST_GROUP_ROWS = 10_000, 100
MOST_MEMORY = 1024**3
"""Data segment of the process: a last resort, for rows a thousand times longer than those before."""
MOST_DIGITS = 38  # of a decimal in Parquet as polars writes it

_MOMENT = "%Y-%m-%dT%H:%M:%S%.6fZ"
_TEXTS = pl.List(pl.String)


def _is_true(text: pl.Expr) -> pl.Expr:
    return text == "true"


def _moment(text: pl.Expr) -> pl.Expr:
    return text.str.to_datetime(_MOMENT, time_unit="us").dt.replace_time_zone("UTC")


def _list(text: pl.Expr) -> pl.Expr:
    return text.str.json_decode(_TEXTS)


def _as_it_is(text: pl.Expr) -> pl.Expr:
    return text


_KINDS: Mapping[Kind, tuple[pl.DataType, Callable[[pl.Expr], pl.Expr]]] = {
    Kind.TEXT: (pl.String(), _as_it_is),
    Kind.INTEGER: (pl.Int32(), lambda text: text.cast(pl.Int32())),
    Kind.BIG_INTEGER: (pl.Int64(), lambda text: text.cast(pl.Int64())),
    Kind.DECIMAL: (pl.String(), _as_it_is),
    Kind.FLOAT: (pl.Float64(), lambda text: text.cast(pl.Float64())),
    Kind.BOOLEAN: (pl.Boolean(), _is_true),
    Kind.TIMESTAMP: (pl.Datetime("us", "UTC"), _moment),
    Kind.DATE: (pl.Date(), lambda text: text.str.to_date("%Y-%m-%d")),
    Kind.UUID: (pl.String(), _as_it_is),
    Kind.CHOICE: (pl.String(), _as_it_is),
    Kind.UUIDS: (_TEXTS, _list),
    Kind.TEXTS: (_TEXTS, _list),
    Kind.LINKS: (_TEXTS, _list),
}
"""Type of each kind, and the conversion of a cell's text to it. A UUID is text, since polars has no type for it."""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    run(write)


def write(job: WriteJob, pieces: Iterator[bytes], made: BinaryIO, folder: Path) -> None:
    # Buffer the rows on disk: the longest rows determine the size of a row group, and may be the last.
    with (folder / "rows.csv").open("w+b") as rows:
        spooled = spool(pieces, rows)
        rows.seek(0)
        schema = {name: _type(job, place) for place, name in enumerate(job.names)}
        frames = (_frame(job, rows.read(length)) for length in spooled.lengths)
        source = register_io_source(lambda *_: frames, schema=schema)
        source.sink_parquet(made, row_group_size=spooled.group_rows(), engine="streaming")


class Spooled(Struct):
    """Lengths of the pieces on disk, each of whole rows, and the maximum bytes per row over the pieces."""

    lengths: list[int] = []
    longest: float = 1.0

    def group_rows(self) -> int:
        return min(MOST_GROUP_ROWS, max(FEWEST_GROUP_ROWS, int(GROUP_BYTES / self.longest)))


def spool(pieces: Iterator[bytes], rows: BinaryIO) -> Spooled:
    """Write the pieces to disk, split at the ends of rows."""
    spooled = Spooled()
    for piece in whole_rows(pieces):
        rows.write(piece)
        spooled.lengths.append(len(piece))
        count = sum(part.count(b"\n") for part in piece.split(b'"')[::2])
        spooled.longest = max(spooled.longest, len(piece) / max(count, 1))
    return spooled


def whole_rows(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Pieces of about 1 MiB that end where a row ends.

    Example: the pieces ``1,"a`` and ``\\n"\\n2`` give ``1,"a\\n"\\n`` and ``2``, when each is long enough.
    """
    held, size = list[bytes](), 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= PIECE and (cut := _last_end(text := b"".join(held))):
            yield text[:cut]
            held, size = [text[cut:]], len(text) - cut
    if rest := b"".join(held):
        yield rest


def _last_end(text: bytes) -> int:
    """Position after the last line feed outside quotes, or 0; ``text`` begins with a row."""
    parts = text.split(b'"')
    end = len(text)
    # Parts with even numbers are outside quotes. Search backwards for the last line feed.
    for place in range(len(parts) - 1, -1, -1):
        begin = end - len(parts[place])
        if place % 2 == 0 and (found := parts[place].rfind(b"\n")) >= 0:
            return begin + found + 1
        end = begin - 1
    return 0


def _frame(job: WriteJob, rows: bytes) -> pl.DataFrame:
    texts = pl.read_csv(rows, has_header=False, schema=dict.fromkeys(job.names, pl.String), empty_string_is_null=True)
    return texts.select(_value(job, place) for place in range(len(job.names)))


def _decimal(job: WriteJob, place: int) -> pl.Decimal | None:
    precision, scale = job.digits.get(place, (MOST_DIGITS + 1, 0))
    return pl.Decimal(precision, scale) if precision <= MOST_DIGITS else None


def _type(job: WriteJob, place: int) -> pl.DataType:
    return _decimal(job, place) or _KINDS[job.kinds[place]][0]


def _value(job: WriteJob, place: int) -> pl.Expr:
    text, decimal = pl.col(job.names[place]), _decimal(job, place)
    return _KINDS[job.kinds[place]][1](text) if decimal is None else text.cast(decimal)


if __name__ == "__main__":
    main()
