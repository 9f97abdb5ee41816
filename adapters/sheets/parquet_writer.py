"""Worker that writes a Parquet file in row groups, of which a few are in memory at a time.

``python -m adapters.sheets.parquet_writer DESCRIPTOR FOLDER`` takes its job as a line on standard input, then the rows.
"""

import resource
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import polars as pl
from msgspec import Struct
from polars.io.plugins import register_io_source

from adapters.sheets.frames import WriteJob
from adapters.sheets.writing_process import run
from domain.entities.declaration import Kind

PIECE = 1024 * 1024
"""Bytes of rows that become columns at once."""
GROUP_BYTES = 16 * 1024 * 1024
MOST_GROUP_ROWS, FEWEST_GROUP_ROWS = 10_000, 100
MOST_MEMORY = 1024**3
"""Data segment of the process: a last resort, against rows that are a thousand times longer than those before."""
MOST_DIGITS = 38  # of a decimal in Parquet as polars writes it

_MOMENT = "%Y-%m-%dT%H:%M:%S%.6fZ"
_TEXTS = pl.List(pl.String)
_TYPES: Mapping[str, pl.DataType] = {
    Kind.INTEGER.name: pl.Int32(),
    Kind.BIG_INTEGER.name: pl.Int64(),
    Kind.FLOAT.name: pl.Float64(),
    Kind.BOOLEAN.name: pl.Boolean(),
    Kind.TIMESTAMP.name: pl.Datetime("us", "UTC"),
    Kind.DATE.name: pl.Date(),
    Kind.UUIDS.name: _TEXTS,
    Kind.TEXTS.name: _TEXTS,
}
"""Types by kind. Other kinds are text; UUIDs too, since polars has no type for them and spells them as JSON does."""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    run(write)


def write(job: WriteJob, pieces: Iterator[bytes], made: BinaryIO, folder: Path) -> None:
    # On disk first: the number of rows in a group depends on the longest rows, which may be the last ones.
    with (folder / "rows.csv").open("w+b") as rows:
        spooled = spool(pieces, rows)
        rows.seek(0)
        schema = {name: _type(job, place) for place, name in enumerate(job.names)}
        frames = (_frame(job, rows.read(length)) for length in spooled.lengths)
        source = register_io_source(lambda *_: frames, schema=schema)
        source.sink_parquet(made, row_group_size=spooled.group_rows(), engine="streaming")


class Spooled(Struct):
    """Lengths of the pieces on disk, each of whole rows, and the bytes of a row in the piece with the longest ones."""

    lengths: list[int] = []
    longest: float = 1.0

    def group_rows(self) -> int:
        return min(MOST_GROUP_ROWS, max(FEWEST_GROUP_ROWS, int(GROUP_BYTES / self.longest)))


def spool(pieces: Iterator[bytes], rows: BinaryIO) -> Spooled:
    """Writes the pieces to disk, cut anew at the ends of rows."""
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
    """Place behind the last line feed outside of quotes, 0 where there is none; a row begins at the text's start."""
    parts = text.split(b'"')
    end = len(text)
    # Parts at even places are outside of quotes; the way back over the parts ends at the first line feed.
    for place in range(len(parts) - 1, -1, -1):
        begin = end - len(parts[place])
        if place % 2 == 0 and (found := parts[place].rfind(b"\n")) >= 0:
            return begin + found + 1
        end = begin - 1
    return 0


def _frame(job: WriteJob, rows: bytes) -> pl.DataFrame:
    texts = pl.read_csv(rows, has_header=False, schema=dict.fromkeys(job.names, pl.String), empty_string_is_null=True)
    return texts.select(_value(job, place) for place in range(len(job.names)))


def _type(job: WriteJob, place: int) -> pl.DataType:
    precision, scale = job.digits.get(place, (MOST_DIGITS + 1, 0))
    if precision <= MOST_DIGITS:
        return pl.Decimal(precision, scale)
    return _TYPES.get(job.kinds[place], pl.String())


def _value(job: WriteJob, place: int) -> pl.Expr:
    text, kind, wanted = pl.col(job.names[place]), job.kinds[place], _type(job, place)
    if kind == Kind.BOOLEAN.name:
        return text == "true"
    if kind == Kind.TIMESTAMP.name:
        return text.str.to_datetime(_MOMENT, time_unit="us").dt.replace_time_zone("UTC")
    if kind == Kind.DATE.name:
        return text.str.to_date("%Y-%m-%d")
    if wanted == _TEXTS:
        return text.str.json_decode(_TEXTS)
    return text.cast(wanted)


if __name__ == "__main__":
    main()
