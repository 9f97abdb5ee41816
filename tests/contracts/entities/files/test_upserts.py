"""Imports that change rows by a key: entities with several unique values, and writers of the same moment."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Annotated

import asyncpg
import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.files.loading import CHECKED_TOGETHER
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import Act, Change, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.bodies import NOT_WRITABLE
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.files.csv_rows import written
from domain.entities.markers import big, entity, unique
from domain.entities.query.read_query import read_export
from domain.entities.registry import build_registry
from domain.entities.sheets import RowError
from domain.errors import FieldError
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id
from tests.conftest import NewDatabase
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)


@entity("people", unique=[unique("email", ignore_case=True), unique("badge"), unique("name", "team")])
class Person(Struct, rename="camel", kw_only=True):
    email: str
    badge: Annotated[int | None, big] = None
    name: str = ""
    team: str | None = None
    note: str | None = None


@entity("teams", unique=[unique("email", ignore_case=True)])
class Team(Person, rename="camel", kw_only=True):
    """Rows with a single unique value, which are stored in sets."""


GUESTS = [unique("email"), unique("badge"), unique("name", "email", ignore_case=True)]


@entity("guests", unique=GUESTS, tenant_owned=False, soft_delete=False, history=True)
class Guest(Person, rename="camel", kw_only=True):
    """Rows that all tenants share, with a history."""


REGISTRY = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Person, Team, Guest])
PEOPLE = REGISTRY["people"]
READ_OF_FILES = "SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relname = 'tenantry incoming'"
EACH = "SELECT id FROM (SELECT id, email FROM people UNION ALL SELECT id, email FROM teams) AS each"
Row = dict[str, object]


@pytest.fixture(scope="module")
async def people_postgres(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PostgresDatabase]:
    url, folders = await new_database(), [VERSIONS, tmp_path_factory.mktemp("migrations")]
    assert await write_migration(url, REGISTRY, "people", folders) is not None
    assert await upgrade(url, REGISTRY, folders) == []
    database = PostgresDatabase(url, REGISTRY, CountingIds(), connections=4)
    await database.open()
    yield database
    await database.close()


@pytest.fixture
async def emptied_postgres(people_postgres: PostgresDatabase) -> AsyncIterator[PostgresDatabase]:
    yield people_postgres
    async with people_postgres.transaction(EveryTenant()) as tx:
        for table in ("people", "teams", "guests"):
            await tx.connection.execute(f"DELETE FROM {table}")


@pytest.fixture
async def owner_of_people(people_postgres: PostgresDatabase) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(people_postgres.url, server_settings={"tenantry.scope": "every"})
    yield connection
    await connection.close()


@pytest.fixture(params=["memory", "postgres"])
def people(request: pytest.FixtureRequest) -> WholeDatabase:
    if request.param == "memory":
        return MemoryDatabase(REGISTRY, CountingIds())
    adapter: WholeDatabase = request.getfixturevalue("emptied_postgres")
    return adapter


def line(number: int, version: int | None = None, kept: Sequence[str] = (), **given: object) -> str:
    """A row as a sheet gives it for an upsert, with the fields that the file has, and maybe the row's version.

    Values of ``kept`` are only to be compared.
    """
    flags = "".join("2" if name in kept else "01"[name in given] for name in PEOPLE.names)
    cells = [None if (value := given.get(name)) is None else str(value) for name in PEOPLE.names]
    return written([str(number), str(new_id()), flags, None, None if version is None else str(version), *cells])


async def load(
    database: WholeDatabase,
    *lines: str,
    key: str = "email",
    plural: str = "people",
    scope: OneTenant = HERE,
    kept: tuple[str, ...] = (),
) -> Loaded:
    model = REGISTRY[plural]

    async def pieces() -> AsyncIterator[bytes]:
        yield "".join(lines).encode()

    async with database.transaction(scope) as tx:
        return await tx.transfers.load(model, pieces(), Loading(ACT, model.by_name[key], kept))


async def add(database: WholeDatabase, *rows: Row, plural: str = "people", scope: OneTenant = HERE) -> None:
    async with database.transaction(scope) as tx:
        whole = [{name: row.get(name) for name in PEOPLE.names} | {"name": row.get("name", "")} for row in rows]
        await tx.records.add(REGISTRY[plural], [NewRow(new_id(), row) for row in whole], ACT)


async def stored(database: WholeDatabase, scope: OneTenant = HERE, plural: str = "people") -> list[Row]:
    query = read_export(REGISTRY[plural], REGISTRY, frozenset(), [("sort", "email")])
    async with database.read_only(scope) as read:
        text = b"".join([piece async for piece in read.transfers.pieces(REGISTRY[plural], query, "json")])
    kept = (*(field.wire for field in PEOPLE.declared), "version")
    return [
        {name: value for name, value in row.items() if name in kept and value is not None} for row in json.loads(text)
    ]


async def test_keys_are_compared_with_case_where_the_unique_counts_it(people: WholeDatabase) -> None:
    await add(people, {"email": "a@x", "badge": 1}, plural="guests")
    await add(people, {"email": "a@x", "badge": 1}, plural="people")
    for plural, emails in (("guests", ["A@x", "a@x"]), ("people", ["a@x"])):
        await load(people, line(2, email="A@x", badge=2, name="A"), plural=plural)
        assert sorted(str(row["email"]) for row in await stored(people, plural=plural)) == emails
    await load(people, line(2, email="a@x", note="small"), line(3, email="A@x", note="large"), plural="guests")
    noted = {(row["email"], row["note"]) for row in await stored(people, plural="guests")}
    assert noted == {("a@x", "small"), ("A@x", "large")}


@pytest.mark.promise("files, upsert: an upsert works on entities with several uniques, by any of them")
@pytest.mark.parametrize("plural", ["people", "guests"])
async def test_an_upsert_works_on_an_entity_with_several_uniques(people: WholeDatabase, plural: str) -> None:
    await add(people, {"email": "a@x", "badge": 1}, {"email": "b@x", "badge": 2, "name": "B"}, plural=plural)
    loaded = await load(
        people,
        line(2, email="A@x" if plural == "people" else "a@x", note="changed"),
        line(3, email="c@x", badge=3, name="C"),
        line(4, email="b@x", badge=1),  # the badge is taken
        line(5, email="d@x", badge=3, name="D"),  # so is this one, by row 3
        plural=plural,
    )
    assert loaded == Loaded(2, 2, [], 0, (4, 5))
    assert await stored(people, plural=plural) == [
        {"email": "a@x", "badge": 1, "name": "", "note": "changed", "version": 2},
        {"email": "b@x", "badge": 2, "name": "B", "version": 1},
        {"email": "c@x", "badge": 3, "name": "C", "version": 1},
    ]


@pytest.mark.promise("files, upsert: an upsert works on entities with several uniques, by any of them")
async def test_an_upserted_row_may_use_a_value_that_an_earlier_row_released(people: WholeDatabase) -> None:
    await add(people, {"email": "a@x", "badge": 1}, {"email": "b@x", "badge": 2, "name": "B"})
    assert await load(people, line(2, email="a@x", badge=3), line(3, email="b@x", badge=1)) == Loaded(2, 0, [])
    assert [row["badge"] for row in await stored(people)] == [3, 1]


@pytest.mark.promise("files, upsert: an upsert works on entities with several uniques, by any of them")
@pytest.mark.parametrize("key", ["email", "badge"])
async def test_any_unique_field_may_be_the_key(people: WholeDatabase, key: str) -> None:
    await add(people, {"email": "a@x", "badge": 1}, scope=THERE)
    await add(people, {"email": "a@x", "badge": 1})
    assert await load(people, line(2, email="a@x", badge=1, note="new"), key=key) == Loaded(1, 0, [])
    assert [row.get("note") for row in await stored(people) + await stored(people, THERE)] == ["new", None]


@pytest.mark.parametrize("plural", ["people", "teams", "guests"])
async def test_values_that_are_only_compared_are_not_written(people: WholeDatabase, plural: str) -> None:
    await add(people, {"email": "a@x", "team": "T"}, {"email": "b@x"}, {"email": "c@x", "badge": 3}, plural=plural)
    both = ("team", "badge")
    loaded = await load(
        people,
        line(2, email="a@x", team="T", note="equal", kept=both),
        line(3, email="b@x", team="U", badge=1, note="other", kept=both),
        line(4, email="c@x", team="", note="empty is not null", kept=["team"]),
        line(5, email="d@x", team="new", name="D", kept=both),
        plural=plural,
        kept=both,
    )
    assert (loaded.imported, loaded.skipped) == (2, 0)
    assert list(loaded.errors) == [
        RowError.on(3, [FieldError("team", NOT_WRITABLE), FieldError("badge", NOT_WRITABLE)]),
        RowError.on(4, [FieldError("team", NOT_WRITABLE)]),
    ]
    rows = [(row["email"], row.get("team"), row.get("note")) for row in await stored(people, plural=plural)]
    # whoever reads the file has refused new rows with such values: a row that is not stored has nothing to compare
    assert rows == [("a@x", "T", "equal"), ("b@x", None, None), ("c@x", None, None), ("d@x", "new", None)]


@pytest.mark.promise("files, upsert: a row of an older version is an error that names the stored one")
@pytest.mark.parametrize("plural", ["people", "teams", "guests"])
async def test_a_row_of_an_older_version_is_an_error_that_names_the_stored_one(
    people: WholeDatabase, plural: str
) -> None:
    await add(people, {"email": "a@x"}, {"email": "b@x"}, {"email": "c@x"}, plural=plural)
    newer = line(2, email="a@x", note="new"), line(3, email="b@x", note="new")
    assert await load(people, *newer, plural=plural) == Loaded(2, 0, [])
    loaded = await load(
        people,
        line(2, version=1, email="a@x", note="stale"),
        line(3, version=2, email="b@x", note="as old"),
        line(4, email="c@x", note="without"),
        line(5, version=7, email="d@x", name="D", note="not stored yet"),
        plural=plural,
    )
    assert (loaded.imported, loaded.skipped) == (3, 0)
    message = "is 1, but the stored row has 2: it was changed since; export it again"
    assert list(loaded.errors) == [RowError.on(2, [FieldError("version", message)])]
    assert [(row.get("note"), row["version"]) for row in await stored(people, plural=plural)] == [
        ("new", 2),
        ("as old", 3),
        ("without", 2),
        ("not stored yet", 1),
    ]


async def waiting(owner: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Returns once a statement waits for a lock that another holds."""
    await until(partial(owner.fetchval, SOMEBODY_WAITS))


@pytest.mark.promise("files, upsert: a writer of the same moment is waited for, and what it wrote stays")
async def test_an_upsert_waits_for_a_concurrent_writer_and_preserves_its_changes(
    emptied_postgres: PostgresDatabase, owner_of_people: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    database = emptied_postgres
    await add(database, {"email": "a@x", "badge": 1})
    async with database.transaction(HERE) as tx:
        row_id = await owner_of_people.fetchval("SELECT id FROM people")
        await tx.records.change(PEOPLE, [Change(row_id, {"note": "theirs"})], ACT)
        importing = asyncio.create_task(load(database, line(2, email="a@x", name="ours")))
        await waiting(owner_of_people)
    assert await importing == Loaded(1, 0, [])
    assert await stored(database) == [{"email": "a@x", "badge": 1, "name": "ours", "note": "theirs", "version": 3}]


@pytest.mark.promise("files, upsert: a row of an older version is an error that names the stored one")
async def test_the_version_is_compared_after_the_writer_that_was_waited_for(
    emptied_postgres: PostgresDatabase, owner_of_people: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    database = emptied_postgres
    await add(database, {"email": "a@x"})
    async with database.transaction(HERE) as tx:
        row_id = await owner_of_people.fetchval("SELECT id FROM people")
        await tx.records.change(PEOPLE, [Change(row_id, {"note": "theirs"})], ACT)
        importing = asyncio.create_task(load(database, line(2, version=1, email="a@x", note="ours")))
        await waiting(owner_of_people)
    loaded = await importing
    assert (loaded.imported, [error.row for error in loaded.errors]) == (0, [2])
    assert [row["note"] for row in await stored(database)] == ["theirs"]


@pytest.mark.promise("files, upsert: a writer of the same moment is waited for, and what it wrote stays")
@pytest.mark.parametrize("plural", ["people", "teams"])
async def test_a_row_that_is_made_at_the_same_moment_is_changed(
    emptied_postgres: PostgresDatabase, owner_of_people: "asyncpg.Connection[asyncpg.Record]", plural: str
) -> None:
    database = emptied_postgres
    async with database.transaction(HERE) as tx:
        row = dict.fromkeys(PEOPLE.names) | {"email": "a@x", "name": "", "note": "theirs"}
        await tx.records.add(REGISTRY[plural], [NewRow(new_id(), row)], ACT)
        importing = asyncio.create_task(load(database, line(2, email="a@x", name="ours"), plural=plural))
        await waiting(owner_of_people)
    assert await importing == Loaded(1, 0, [])
    assert await stored(database, plural=plural) == [{"email": "a@x", "name": "ours", "note": "theirs", "version": 2}]


async def test_imports_and_changes_at_the_same_time_make_a_line_for_each_version(people: WholeDatabase) -> None:
    guests, row_id = REGISTRY["guests"], new_id()
    row = dict.fromkeys(PEOPLE.names) | {"email": "a@x", "name": ""}
    async with people.transaction(HERE) as tx:
        await tx.records.add(guests, [NewRow(row_id, row)], ACT)

    async def change(note: str) -> None:
        async with people.transaction(HERE) as tx:
            await tx.records.change(guests, [Change(row_id, {"note": note})], ACT)

    imports = [load(people, line(2, email="a@x", name=f"N {n}"), plural="guests") for n in range(4)]
    await asyncio.gather(*imports, *(change(f"T {n}") for n in range(4)))
    async with people.read_only(HERE) as read:
        entries, total = await read.history.page(guests, row_id, 0, 100)
    assert [entry.version for entry in entries] == list(range(9, 0, -1))
    assert total == 9


@pytest.mark.parametrize("plural", ["people", "teams", "guests"])
async def test_a_row_with_only_its_key_has_an_unchanged_version(people: WholeDatabase, plural: str) -> None:
    await add(people, {"email": "a@x"}, {"email": "b@x", "name": "B"}, plural=plural)
    assert await load(people, line(2, email="a@x"), line(3, email="b@x", note="n"), plural=plural) == Loaded(2, 0, [])
    assert [row["version"] for row in await stored(people, plural=plural)] == [1, 2]


@pytest.mark.promise("files, upsert: a writer of the same moment is waited for, and what it wrote stays")
@pytest.mark.parametrize("plural", ["people", "teams"])
async def test_a_row_that_appears_while_another_is_waited_for_is_not_changed_unlocked(
    emptied_postgres: PostgresDatabase, owner_of_people: "asyncpg.Connection[asyncpg.Record]", plural: str
) -> None:
    database, model = emptied_postgres, REGISTRY[plural]
    await add(database, {"email": "a@x"}, plural=plural)
    first = await owner_of_people.fetchval(f"{EACH} WHERE email = 'a@x'")
    async with AsyncExitStack() as third:
        async with database.transaction(HERE) as tx:
            await tx.records.change(model, [Change(first, {"note": "theirs"})], ACT)
            rows = line(2, email="a@x", note="ours"), line(3, version=1, email="b@x", name="B", note="ours")
            importing = asyncio.create_task(load(database, *rows, plural=plural))
            await waiting(owner_of_people)
            await add(database, {"email": "b@x", "name": "B"}, plural=plural)
            tx_of_third = await third.enter_async_context(database.transaction(HERE))
            second = await owner_of_people.fetchval(f"{EACH} WHERE email = 'b@x'")
            await tx_of_third.records.change(model, [Change(second, {"note": "third"})], ACT)
        await waiting(owner_of_people)
    loaded = await importing
    assert (loaded.imported, [error.row for error in loaded.errors]) == (1, [3])
    assert [row["note"] for row in await stored(database, plural=plural)] == ["ours", "third"]


async def test_rows_written_separately_are_found_without_reading_the_whole_file(
    emptied_postgres: PostgresDatabase,
) -> None:
    model, rows = PEOPLE, CHECKED_TOGETHER + 20

    async def file() -> AsyncIterator[bytes]:
        yield "".join(line(n, email=f"{n}@x", badge=n, name=f"N {n}") for n in range(2, rows + 2)).encode()

    async with emptied_postgres.transaction(HERE) as tx:
        loaded = await tx.transfers.load(model, file(), Loading(ACT, model.by_name["email"]))
        read = await tx.connection.fetchval(READ_OF_FILES)
    assert (loaded.imported, read < 20 * rows) == (rows, True), read
