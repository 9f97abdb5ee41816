"""Model of migrations: a filled table comes from any declaration to any other, and loses no value that nobody named."""

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import chain, combinations
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from msgspec import NODEFAULT

from adapters.postgres.migrations import inspection
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS, MigrationRefused, heads_of
from adapters.postgres.schema.row_security import policies
from tests.adapters.postgres.migrations.changed_books import fill_in, making, spelled
from tests.adapters.postgres.migrations.drawn_declarations import WRITERS, Case, Declared, Drawn, Shape, cases, clash
from tests.conftest import NewDatabase
from tests.examples import ASKED, examples
from tests.servers.databases import named

Rows = dict[UUID, dict[str, Any]]

WIDER = {
    "int": {"big", "money220", "float"},
    "big": {"money220"},
    "money82": {"money124"},
    "money80": {"money124", "money220", "int", "big"},
    "uuids": {"texts"},
    "date": {"timestamp"},
}
"""Changes of type that keep every value, beside those to text."""


@dataclass
class Drawing:
    """A database whose tables are made anew for each example."""

    runner: asyncio.Runner
    url: str
    folder: Path

    @property
    def folders(self) -> list[Path]:
        return [VERSIONS, self.folder]

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        return await asyncpg.connect(self.url, server_settings={"tenantry.scope": "every"})

    async def begin(self, case: Case) -> None:
        for file in self.folder.glob("*.py"):
            file.unlink()
        connection = await self.connect()
        try:
            await connection.execute("DROP TABLE IF EXISTS books, writers CASCADE; DELETE FROM alembic_version")
            await connection.execute("INSERT INTO alembic_version VALUES ($1)", heads_of([VERSIONS])[0])
            for statement in making(case.before.registry, {"writers", "books"}):
                await connection.execute(statement)
            owned = [name for name in ("books", "writers") if case.before.registry[name].tenant_owned]
            for statement in map(spelled, chain.from_iterable(map(policies, owned))):
                await connection.execute(statement)
            shared = {"name": "w", "version": 1}
            for row, table in [
                *(({"id": row_id, **shared}, "writers") for row_id in WRITERS),
                *((row, "books") for row in case.rows),
            ]:
                await _insert(connection, table, row)
        finally:
            await connection.close()

    async def stored(self) -> Rows:
        connection = await self.connect()
        try:
            return {row["id"]: dict(row) for row in await connection.fetch("SELECT * FROM books")}
        finally:
            await connection.close()

    async def ask(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        connection = await self.connect()
        try:
            return [tuple(row) for row in await connection.fetch(statement, *values)]
        finally:
            await connection.close()

    async def write(self, declared: Declared) -> Path | None:
        written = await write_migration(self.url, declared.registry, "change", self.folders)
        return written.path if written else None

    async def apply(self, declared: Declared) -> list[str]:
        return await upgrade(self.url, declared.registry, self.folders)


async def _insert(connection: "asyncpg.Connection[asyncpg.Record]", table: str, row: Mapping[str, Any]) -> None:
    names = ", ".join(f'"{name}"' for name in row)
    places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    await connection.execute(
        f"INSERT INTO {table} ({names}, created_at, updated_at) VALUES ({places}, now(), now())", *row.values()
    )


@pytest.fixture
async def url(new_database: NewDatabase) -> str:
    return await new_database()


@pytest.fixture
def drawing(url: str, tmp_path: Path) -> Iterator[Drawing]:
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        drawing = Drawing(runner, url, tmp_path)
        runner.run(drawing.ask(f"ALTER DATABASE \"{named(url)}\" SET timezone TO 'Asia/Tokyo'"))
        yield drawing


@pytest.mark.promise(
    "declarations, case folding: the copy comes and goes with ignore_case, follows a rename, and takes the place of an "
    "index over lower in one transaction"
)
@pytest.mark.promise(
    "migrations, workflow: Any filled table comes from any declaration to any other, both drawn, and loses or changes "
    "no value that nobody named (make fuzz: 1,000 pairs)"
)
@pytest.mark.timeout(300 + 5 * ASKED)
@given(case=cases())
@settings(
    max_examples=examples(3),
    derandomize=ASKED == 0,  # few are always the same, many are others each time
    database=None,
    deadline=None,
    phases=[Phase.generate],  # each example migrates a database: making one smaller would take minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_table_with_rows_migrates_between_any_two_declarations(drawing: Drawing, case: Case) -> None:
    drawing.runner.run(_check(drawing, case))


async def _check(drawing: Drawing, case: Case) -> None:
    await drawing.begin(case)
    stored = await drawing.stored()
    if is_impossible(case):
        event("refused before a file is written")
        with pytest.raises(MigrationRefused):
            await drawing.write(case.after)
        assert await drawing.stored() == stored
        return
    path = await drawing.write(case.after)
    expected = Expected(case)
    asked = _asked(path) if path else set()
    assert asked == expected.questions, path and path.read_text()
    if path is not None and _question(path):
        with pytest.raises(MigrationRefused, match="is to be filled in"):
            await drawing.apply(case.after)
        assert await drawing.stored() == stored
        _answer(path, expected)
    if expected.is_refused:
        event("refused by the database")
        with pytest.raises(MigrationRefused, match="cannot be applied, and ") as refused:
            await drawing.apply(case.after)
        if "nothing was changed" in str(refused.value):
            assert await drawing.stored() == stored
            return
        # the file beside reads and writes comes after one that is applied: it begins anew, and finds the same rows
        with pytest.raises(MigrationRefused, match="begins anew the next time"):
            await drawing.apply(case.after)
        return
    assert await drawing.apply(case.after) == []
    event("applied with answers" if asked else "applied" if path else "nothing to write")
    await _ensure_stored(drawing, case, expected)
    assert await drawing.write(case.after) is None, next(drawing.folder.glob("*.py")).read_text()
    assert await inspection.differences(drawing.url, case.after.registry, drawing.folders) == []
    await _ensure_rows_can_be_added(drawing, case)


def is_impossible(case: Case) -> bool:
    comes_to_life = case.before.soft and not case.after.soft and any(row["is_deleted"] for row in case.rows)
    return comes_to_life or case.before.owned != case.after.owned


class Expected:
    """Rows that a migration must leave, with the answers to what it must ask."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.questions: set[str] = set()
        self.said: dict[str, Any] = {}
        self.rows = {row["id"]: {"is_deleted": False, **row} for row in case.rows}
        for name, field in case.after.fields.items():
            self._expect(name, case.before.fields.get(name), field)

    @property
    def is_refused(self) -> bool:
        """Whether uniques or references of the new declaration forbid the rows, so that PostgreSQL must refuse."""
        rows = list(self.rows.values())
        twice = any(clash(self.case.after, row, other) for row, other in combinations(rows, 2))
        return twice or any(self._is_dangling(field, row) for field in self.case.after.fields.values() for row in rows)

    def _is_dangling(self, field: Drawn, row: Mapping[str, Any]) -> bool:
        value = row[field.name]
        if value is None or not field.shape.target:
            return False
        if field.shape.target == "writers":
            return value not in WRITERS
        return value not in self.rows or self.rows[value].get("tenant_id") != row.get("tenant_id")

    def _expect(self, name: str, before: Drawn | None, after: Drawn) -> None:
        if before is None:
            default = None if after.default is NODEFAULT else after.default
            if self.rows and default is None and not after.nullable:
                self.questions.add(name)
                self.said[name] = default = self.answer(after.shape)
            self._set(name, lambda _: default)
            return
        if after.shape.is_enum and before.shape.is_text:
            known = after.shape.values
            if any(row[name] not in (None, *known) for row in self.rows.values()):
                self.questions.add(name)
            self._set(name, lambda value: value if value in (None, *known) else known[0])
        if not after.nullable and any(row[name] is None for row in self.rows.values()):
            self.questions.add(name)
            answer = self.answer(before.shape)
            self._set(name, lambda value: answer if value is None else value)
        if is_narrower(before.shape, after.shape):
            self.questions.add(name)
            self.said[name] = said = self.answer(after.shape)
            self._set(name, lambda _: said)
        else:
            self._set(name, lambda value: _kept(value, before.shape, after.shape))

    def answer(self, shape: Shape) -> Any:
        return next(iter(self.rows), WRITERS[0]) if shape.target == "books" else shape.values[0]

    def _set(self, name: str, change: Callable[[Any], Any]) -> None:
        for row in self.rows.values():
            row[name] = change(row.get(name))


def is_narrower(before: Shape, after: Shape) -> bool:
    if before.sql == after.sql or (after.is_text and not after.is_enum and not before.is_list):
        return False
    return after.name not in WIDER.get(before.name, ())


def _kept(value: Any, before: Shape, after: Shape) -> Any:
    """Value of the new type that is the same one: that of text is told apart by reading it again."""
    if value is None or before.sql == after.sql:
        return value
    if after.sql == "text[]":
        return [str(item) for item in value]
    if after.is_text:
        return AsText(value, before.sql)
    return datetime(value.year, value.month, value.day, tzinfo=UTC) if after.sql == "timestamptz" else value


@dataclass(frozen=True)
class AsText:
    """Value that became text: PostgreSQL reads it as the same value."""

    value: Any
    sql: str

    def lower(self) -> str:
        return str(self.value)


async def _ensure_stored(drawing: Drawing, case: Case, expected: Expected) -> None:
    stored = await drawing.stored()
    assert stored.keys() == expected.rows.keys()
    for row_id, row in expected.rows.items():
        for name, value in row.items():
            if name == "is_deleted" and not (case.before.soft or case.after.soft):
                continue
            found, held = stored[row_id][name], value
            if isinstance(value, AsText):
                assert isinstance(found, str)
                held = value.value
                ((found,),) = await drawing.ask(f"SELECT CAST($1::text AS {value.sql})", found)
            is_alike = isinstance(found, type(held)) or _are_numbers(found, held)
            assert is_alike, (name, found, held)
            assert found == held, (name, found, held)


def _are_numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values)


async def _ensure_rows_can_be_added(drawing: Drawing, case: Case) -> None:
    """Columns that nothing declares any more are in nobody's way."""
    row: dict[str, Any] = {"id": UUID(int=999), "version": 1}
    row |= {"tenant_id": UUID(int=999)} if case.after.owned else {}
    row |= {"is_deleted": False} if case.after.soft else {}
    for field in case.after.fields.values():
        row[field.name] = UUID(int=999) if field.shape.target == "books" else field.shape.values[-1]
    connection = await drawing.connect()
    try:
        await _insert(connection, "books", row)
    except asyncpg.UniqueViolationError:
        assert any(clash(case.after, row, other) for other in Expected(case).rows.values())
    finally:
        await connection.close()


_QUESTION = re.compile(
    r"fill_in\(\s*[\"'](?:books\.(?P<field>\w+) (?P<kind>becomes|is required and|is required now|has values)"
    r"|(?P<index>\w+) )"
)


def _question(path: Path) -> re.Match[str] | None:
    return _QUESTION.search(path.read_text().partition("def upgrade")[2])


def _asked(path: Path) -> set[str]:
    return {found["field"] for found in _QUESTION.finditer(path.read_text()) if found["field"]}


def _answer(path: Path, expected: Expected) -> None:
    """Writes what a person would into the file."""
    fields = expected.case.after.fields
    while found := _question(path):
        name, kind = found["field"], found["kind"]
        if name is None:
            fill_in(path, '"SELECT 1"')  # the values that are double stay so, and the index is refused
        elif kind == "has values":
            known = ", ".join(map(_literal, fields[name].shape.values))
            value = _literal(fields[name].shape.values[0])
            fill_in(path, repr(f'UPDATE books SET "{name}" = {value} WHERE "{name}" NOT IN ({known})'))
        elif kind == "is required now":
            value = _literal(expected.answer(expected.case.before.fields[name].shape))
            fill_in(path, repr(f'UPDATE books SET "{name}" = {value} WHERE "{name}" IS NULL'))
        else:
            value = f"CAST({_literal(expected.said[name])} AS {fields[name].shape.sql})"
            fill_in(path, repr(value) if kind == "becomes" else f"sa.text({value!r})")


def _literal(value: Any) -> str:
    return "'{}'" if value == [] else "'" + str(value).replace("'", "''") + "'"
