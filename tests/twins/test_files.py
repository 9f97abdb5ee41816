"""Import after export changes nothing: every kind of field, in memory and in PostgreSQL, by CSV, xlsx and Parquet."""

import io
import json
import string
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.memory.entities.files import MemoryTransfers
from adapters.memory.store import Store
from adapters.postgres.entities.files.copying import PostgresTransfers
from adapters.sheets.frames import DONE, ERRORS, HEAD, ROWS, Entity, Errors, ReadJob, WriteJob
from adapters.sheets.parquet_writer import write as write_parquet
from adapters.sheets.reader import read
from adapters.sheets.writer import write
from application.ports.entities.files import Loading
from application.ports.entities.records import Act
from domain.entities.bodies import EVERY_FIELD
from domain.entities.declaration import FieldModel
from domain.entities.files.options import ImportOptions
from domain.entities.kinds import Kind
from domain.entities.markers import Money
from domain.entities.query.read_query import read_export
from domain.entities.registry import build_registry
from domain.entities.sheets import Form, exported_columns
from domain.scope import OneTenant
from tests.builders import NOW
from tests.examples import examples
from tests.twins.database import TwinsDatabase
from tests.twins.everything import DECLARED

REGISTRY = build_registry(DECLARED)
THING = REGISTRY["things"]
HERE, THERE = OneTenant(UUID(int=1)), OneTenant(UUID(int=2))
ACT = Act(UUID(int=9), NOW)
NASTY = (
    "",
    "'",
    "''=1",
    "=1+1",
    "+",
    "-1",
    "@x",
    "\uff1d1",
    "'\uff20",
    "\t",
    "\r",
    "\n",
    "\r\n",
    "'\n",
    '"',
    '""',
    ",",
    ";",
    " a ",
    "_x0041_",
    "_x0041_x0042_",
    "_x005F_x0041_",
    "_x005f__x0041",
)
NASTIER = (
    "<r>x</r>",
    "&amp;",
    "true",
    "1.0",
    "007",
    "#N/A",
    "\x01\x1f\x7f\x85\u2028",
    "\ufeff",
    "😀",
    "NULL",
    "\\N",
    "\\.",
)
TEXTS = st.sampled_from((*NASTY, *NASTIER)) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001  # bounds are naive
VALUES: dict[Kind, st.SearchStrategy[Any]] = {
    Kind.TEXT: TEXTS,
    Kind.INTEGER: st.integers(-(2**31), 2**31 - 1),
    Kind.BIG_INTEGER: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT: st.floats(allow_nan=False, allow_infinity=False),
    Kind.BOOLEAN: st.booleans(),
    Kind.TIMESTAMP: MOMENTS,
    Kind.DATE: st.dates(),
    Kind.UUID: st.uuids(),
    Kind.UUIDS: st.lists(st.uuids(), max_size=2),
    Kind.TEXTS: st.lists(TEXTS, max_size=2),
}

Row = dict[str, object]


def values_of(field: FieldModel) -> st.SearchStrategy[object]:
    if field.reference is not None:
        return st.none()
    if field.link is not None:
        return st.just({})  # the file is imported into a tenant without the targets
    if field.choices:
        return st.sampled_from(field.choices).map(lambda text: msgspec.convert(text, field.type))
    values = VALUES[field.kind] if field.money is None else amounts(field.money)
    return values | st.none() if field.nullable else values


def amounts(money: Money) -> st.SearchStrategy[Decimal]:
    """As many digits as a cell of a spreadsheet keeps."""
    most = Decimal(10 ** (min(money.precision, 15) - money.scale)) - 1
    return st.decimals(-most, most, places=money.scale)


@st.composite
def things(draw: st.DrawFn) -> list[Row]:
    """Titles are unique without case, and none is empty, which an xlsx could not tell from null."""
    rows: list[Row] = []
    for number in range(draw(st.integers(1, 4))):
        row = {field.name: draw(values_of(field)) for field in THING.declared}
        row["title"] = f"{row['title'] or ''}{string.ascii_lowercase[number]}{number}"
        rows.append(row)
    return rows


def stored(rows: Sequence[Row], tenant: OneTenant) -> list[Row]:
    server: Row = {"tenant_id": tenant.id, "created_at": NOW, "updated_at": NOW, "created_by": None, "updated_by": None}
    server |= {"is_deleted": False, "deleted_at": None, "deleted_by": None, "version": 1}
    return [{"id": UUID(int=1000 + number), **server, **row} for number, row in enumerate(rows)]


QUERY = read_export(THING, REGISTRY, frozenset(), [("sort", "title")])
JOB = WriteJob.of(exported_columns(REGISTRY, THING, QUERY.view, shows_tenant=False))
Transfers = MemoryTransfers | PostgresTransfers


@dataclass(frozen=True)
class Within:
    store: Store

    def read(self) -> Store:
        return self.store

    lock = read

    @asynccontextmanager
    async def write(self) -> AsyncIterator[Store]:
        yield self.store


async def exported(transfers: Transfers, form: Form) -> bytes:
    return b"".join([piece async for piece in transfers.pieces(THING, QUERY, form)])


def as_csv(cells: bytes) -> bytes:
    return cells


def as_xlsx(cells: bytes) -> bytes:
    made = io.BytesIO()
    with TemporaryDirectory() as folder:
        write(JOB, iter(io.StringIO(cells.decode(), newline="")), made, Path(folder))
    return made.getvalue()


def as_parquet(cells: bytes) -> bytes:
    made = io.BytesIO()
    with TemporaryDirectory() as folder:
        write_parquet(JOB, iter([cells]), made, Path(folder))
    return made.getvalue()


def rows_read(file: bytes) -> tuple[bytes, Errors]:
    out, rows, errors = io.BytesIO(), b"", Errors(0, ())
    entity = Entity("tests.twins.everything", "Thing", None)
    read(io.BytesIO(file), THING, ReadJob(entity=entity, options=ImportOptions(), may=EVERY_FIELD), out)
    for letter, body in frames(out.getvalue()):
        rows += body if letter == ROWS else b""
        errors = msgspec.json.decode(body, type=Errors) if letter == ERRORS else errors
    return rows, errors


def frames(said: bytes) -> Iterator[tuple[bytes, bytes]]:
    while said:
        letter, length = HEAD.unpack(said[: HEAD.size])
        yield letter, said[HEAD.size : HEAD.size + length]
        said = said[HEAD.size + length :]
        if letter == DONE:
            assert not said


def declared(body: bytes) -> list[Row]:
    wires = {field.wire for field in THING.declared}
    rows = json.loads(body, parse_float=Decimal)
    return [{name: value for name, value in row.items() if name in wires} for row in rows]


async def again(here: Transfers, there: Transfers, form: Form, pack: Any) -> tuple[list[Row], list[Row]]:
    file = pack(await exported(here, form))
    rows, errors = rows_read(file)
    assert errors == Errors(0, ())

    async def pieces() -> AsyncIterator[bytes]:
        yield rows

    loaded = await there.load(THING, pieces(), Loading(ACT, None))
    assert not loaded.errors
    assert not loaded.skipped
    return declared(await exported(here, "json")), declared(await exported(there, "json"))


ways = pytest.mark.parametrize(
    ("form", "pack"), [("csv", as_csv), ("cells", as_xlsx), ("cells", as_parquet)], ids=["csv", "xlsx", "parquet"]
)
law = settings(
    max_examples=examples(15),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def held_by(row: Row, pack: Any) -> Row:
    """What an xlsx cannot hold is left out of it: empty text, and two characters that XML has not."""
    if pack is not as_xlsx:
        return row
    return {name: _held(value) for name, value in row.items()}


def _held(value: object) -> object:
    if not isinstance(value, str):
        return value
    return value.replace("\ufffe", "").replace("\uffff", "") or None


@pytest.mark.promise(
    "files, Parquet: an import after an export changes nothing, by CSV, xlsx and Parquet, in memory and in PostgreSQL"
)
@ways
@law
@given(drawn=things())
def test_import_after_export_changes_nothing_in_memory(
    twins_database: TwinsDatabase, form: Form, pack: Any, drawn: list[Row]
) -> None:
    store = Store(tables={"things": {row["id"]: row for row in stored([held_by(r, pack) for r in drawn], HERE)}})  # type: ignore[misc]
    here, there = (MemoryTransfers(Within(store), REGISTRY, scope) for scope in (HERE, THERE))
    before, after = twins_database.run(again(here, there, form, pack))
    assert after == before


@pytest.mark.promise(
    "files, Parquet: an import after an export changes nothing, by CSV, xlsx and Parquet, in memory and in PostgreSQL"
)
@ways
@law
@given(drawn=things())
def test_import_after_export_changes_nothing_in_postgres(
    twins_database: TwinsDatabase, form: Form, pack: Any, drawn: list[Row]
) -> None:
    async def both() -> tuple[list[Row], list[Row]]:
        rows = {"things": stored([held_by(row, pack) for row in drawn], HERE), "units": [], "links": []}
        async with twins_database.stored(REGISTRY, rows) as connection:
            here, there = (PostgresTransfers(connection, REGISTRY, scope) for scope in (HERE, THERE))
            result = await again(here, there, form, pack)
            await connection.execute('DROP TABLE "tenantry incoming"')
        return result

    before, after = twins_database.run(both())
    assert after == before


@law
@given(drawn=things())
def test_both_write_the_same_file(twins_database: TwinsDatabase, drawn: list[Row]) -> None:
    rows = stored(drawn, HERE)

    async def both() -> list[bytes]:
        async with twins_database.stored(REGISTRY, {"things": rows, "units": [], "links": []}) as connection:
            store = Store(tables={"things": {row["id"]: row for row in rows}})  # type: ignore[misc]
            twins: list[Transfers] = [
                MemoryTransfers(Within(store), REGISTRY, HERE),
                PostgresTransfers(connection, REGISTRY, HERE),
            ]
            return [await exported(twin, "csv") for twin in twins]

    mine, theirs = twins_database.run(both())
    assert as_numbers(mine) == as_numbers(theirs)


def as_numbers(file: bytes) -> list[list[object]]:
    """A float is written in many ways; what it says is compared."""
    import csv

    header, *rows = csv.reader(io.StringIO(file.decode(), newline=""))
    place = header.index("ratio")
    return [[float(cell) if n == place and cell else cell for n, cell in enumerate(row)] for row in rows]
