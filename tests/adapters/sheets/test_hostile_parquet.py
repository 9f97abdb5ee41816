"""Parquet files that mean harm, or are merely broken: an error that says what and where, in little memory."""

import asyncio
import io
import json
import random
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from domain.entities.declaration import Registry
from domain.entities.sheets import LARGEST_FILE
from domain.errors import Error
from tests.adapters.sheets.test_hostile_files import seen, watched

MOST_MEMORY = 200 * 1024 * 1024


def parquet(frame: pl.DataFrame, **options: Any) -> bytes:
    made = io.BytesIO()
    frame.write_parquet(made, **options)
    return made.getvalue()


def products(count: int) -> pl.DataFrame:
    numbers = pl.select(n=pl.int_range(count)).to_series().cast(pl.String)
    return pl.DataFrame({"name": numbers, "sku": "SKU-" + numbers, "price": [1] * count})


PLAIN = parquet(products(1_000))


def one_text_many_times() -> bytes:
    """A text of 1 MB that 100,000 rows share by a dictionary: 100 GB in a file of kilobytes."""
    text = pl.lit("a" * 2**20, dtype=pl.Categorical)
    return parquet(products(100_000).with_columns(name=text), statistics=False)


def long_texts() -> bytes:
    return parquet(products(110_000).with_columns(name=pl.lit("a" * 2_000)), row_group_size=10_000)


def bomb() -> bytes:
    """A page of 220 MB of one letter."""
    return parquet(products(1).with_columns(name=pl.lit("a" * (220 * 2**20))), statistics=False)


def nulls() -> bytes:
    return parquet(pl.select(name=pl.repeat(None, 20_000_000, dtype=pl.String)))


def footer_of(length: int) -> bytes:
    return PLAIN[:-8] + length.to_bytes(4, "little") + b"PAR1"


def wide() -> bytes:
    return parquet(pl.DataFrame({f"c{n}": [1] for n in range(10_000)}))


def without_pages() -> bytes:
    """A footer that is whole, behind pages that are zeros."""
    footer = int.from_bytes(PLAIN[-8:-4], "little") + 8
    return b"PAR1" + bytes(len(PLAIN) - footer - 4) + PLAIN[-footer:]


FILES: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "the magic alone": (lambda: b"PAR1", "BAD_REQUEST", "end is missing"),
    "half a file": (lambda: PLAIN[: len(PLAIN) // 2], "BAD_REQUEST", "end is missing"),
    "zeros for the first bytes": (lambda: bytes(4) + PLAIN[4:], "BAD_REQUEST", "damaged Parquet: it begins"),
    "letters for the first bytes": (lambda: b"skus" + PLAIN[4:], "BAD_REQUEST", "damaged Parquet: it begins"),
    "a text for the first bytes": (lambda: b"name,sku" + PLAIN[8:], "BAD_REQUEST", "damaged Parquet: it begins"),
    "an encrypted footer": (lambda: b"PARE" + PLAIN[4:-4] + b"PARE", "BAD_REQUEST", "encrypted"),
    "a footer longer than the file": (lambda: footer_of(2**31), "BAD_REQUEST", "longer than the file"),
    "a long footer": (lambda: PLAIN[:4] + bytes(9 * 2**20) + footer_of(9 * 2**20)[-8:], "BAD_REQUEST", "at most"),
    "a footer of zeros": (lambda: PLAIN[:4] + bytes(100) + footer_of(50)[-8:], "BAD_REQUEST", "damaged"),
    "pages of zeros": (without_pages, "BAD_REQUEST", "damaged"),
    "one text many times": (one_text_many_times, "BAD_REQUEST", ""),
    "220 MB of one text": (long_texts, "BAD_REQUEST", "200 MiB"),
    "a page that inflates": (bomb, "BAD_REQUEST", ""),
    "20,000,000 nulls": (nulls, "PAYLOAD_TOO_LARGE", "200000 rows"),
    "too many rows": (lambda: parquet(products(200_001)), "PAYLOAD_TOO_LARGE", "200000 rows"),
    "10,000 columns": (wide, "BAD_REQUEST", "at most 1000"),
    "a struct": (
        lambda: parquet(products(1).with_columns(name=pl.struct("sku", "price"))),
        "VALIDATION_ERROR",
        "has the type Struct",
    ),
    "a column by a pattern": (lambda: parquet(products(1).rename({"name": "^.*$"})), "VALIDATION_ERROR", "^.*$"),
}


@pytest.mark.promise("files, hostile files: a text that thousands of rows share is read in little memory")
@pytest.mark.promise(
    "files, Parquet: Hostile and damaged files are errors within 200 MiB, and an honest file of the largest size is "
    "read, in a single group of rows"
)
@pytest.mark.parametrize("name", FILES)
async def test_a_hostile_parquet_is_refused_in_little_memory(registry: Registry, name: str) -> None:
    make, code, said = FILES[name]
    file, peak = make(), [0]
    watching = asyncio.create_task(watched(peak))
    try:
        with pytest.raises(Error) as refused:
            await seen(registry, file)
    finally:
        watching.cancel()
    told = json.dumps([refused.value.message, *(f"{error.field}: {error.message}" for error in refused.value.fields)])
    assert refused.value.code == code, told
    assert said in told
    assert peak[0] < MOST_MEMORY


@pytest.mark.promise(
    "files, Parquet: Hostile and damaged files are errors within 200 MiB, and an honest file of the largest size is "
    "read, in a single group of rows"
)
@pytest.mark.parametrize("dry_run", [False, True])
async def test_an_honest_file_of_the_largest_size_is_read_though_it_is_one_group_of_rows(
    registry: Registry, dry_run: bool
) -> None:
    chance, peak = random.Random(1), [0]
    texts = [f"{chance.getrandbits(8 * 1_275):0{2 * 1_275}x}" for _ in range(20_000)]
    frame = products(20_000).with_columns(description=pl.Series(texts))
    file = parquet(frame, row_group_size=20_000, compression="uncompressed", statistics=False)
    assert 0.97 < len(file) / LARGEST_FILE < 1
    watching = asyncio.create_task(watched(peak))
    found = await seen(registry, file, dry_run=dry_run)
    watching.cancel()
    assert not found.errors
    assert (found.rows.count(b"\n"), found.rows.count(texts[-1].encode())) == (20_000, 1)
    assert peak[0] < MOST_MEMORY


@pytest.mark.promise(
    "files, Parquet: Hostile and damaged files are errors within 200 MiB, and an honest file of the largest size is "
    "read, in a single group of rows"
)
@pytest.mark.parametrize("seed", range(8))
async def test_a_damaged_parquet_is_an_error_of_the_file_or_of_its_rows(registry: Registry, seed: int) -> None:
    chance, file = random.Random(seed), bytearray(PLAIN)
    for _ in range(chance.choice((1, 3, 30))):
        file[chance.randrange(4, len(file) - 8)] = chance.randrange(256)
    try:
        found = await seen(registry, bytes(file))
    except Error as error:
        assert error.code in {"BAD_REQUEST", "VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"}  # noqa: PT017  # or none is raised
    else:
        assert found.rows or found.errors


async def test_a_text_that_ends_as_a_parquet_does_is_a_text(registry: Registry) -> None:
    found = await seen(registry, b"price,name,sku\r\n1,Lamp,PAR1")
    assert b"PAR1" in found.rows
    assert not found.errors
