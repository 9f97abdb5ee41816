"""Two writers of one row on PostgreSQL: one writes between any two statements of the other.

The outcome must be one that the memory adapter gives when the same writes run one after the other.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import count
from random import Random
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.transaction import PostgresTransaction
from application.entities.checks.conditional_changes import change_of
from application.entities.writing import Write
from application.ports.entities.files import Loading
from application.ports.entities.records import Act, Change, Versions
from domain.entities.declaration import Registry
from domain.entities.files.csv_rows import written
from domain.errors import Error
from domain.scope import Scope
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import ADA, HERE, Desk
from tests.examples import examples
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import until

WRITE = Write(caller=ADA, scope=HERE)
STATEMENTS = frozenset({"execute", "fetch", "fetchrow", "fetchval"})
TEXTS = {"products": "name", "shelves": "name", "volumes": "title", "seats": "code"}
"""A text of each entity: without and with a rule, a history, a guarded field and a rule on other rows."""
KEPT: dict[str, dict[str, object]] = {"products": {"price": Decimal("1.00")}, "volumes": {"cost": Decimal("0.00")}}
KEYS = {"products": "sku", "shelves": "name"}
"""Unique fields by which an import finds rows."""


@dataclass(frozen=True)
class Way:
    """A way to write the row of a Case: ``name`` says which; ``versions`` are those of its If-Match."""

    name: str
    versions: Versions = None


CHANGES = ("change", "guarded change", "change in a batch", "guarded change in a batch")
WAYS = [
    *(Way(name, versions) for name in CHANGES[:2] for versions in (None, 1, frozenset({1, 2}), frozenset({2, 3}))),
    *(Way(name, versions) for name in CHANGES[2:] for versions in (None, 1)),
    *(Way(name, versions) for name in ("delete", "restore", "purge") for versions in (None, 1, frozenset({1, 2}))),
    *map(Way, ("change of nothing", "delete in a batch", "upsert")),
]


@dataclass
class Case:
    """A stored row and a second one, and two ways to write the first."""

    desk: Desk
    plural: str
    row: UUID
    other: UUID
    key: str

    async def write(self, way: Way, text: str, desk: Desk | None = None) -> str:
        """What the caller is answered: the version that was written, or the error."""
        try:
            # the text may be a unique value
            return await self._write(desk or self.desk, way, f"{text}/{self.row}")
        except Error as error:
            return type(error).__name__

    async def _write(self, desk: Desk, way: Way, text: str) -> str:
        model, kept = desk.registry[self.plural], KEPT.get(self.plural, {}) if "guarded" in way.name else {}
        values = {} if way.name == "change of nothing" else {TEXTS[self.plural]: text}
        change = change_of(self.row, values, way.versions, kept)
        if way.name in ("change", "guarded change", "change of nothing"):
            return str((await desk.crud.update(WRITE, model, change)).version)
        if way.name.endswith("change in a batch"):
            further = Change(self.other, {TEXTS[self.plural]: f"other {text}"})
            return str([row.version for row in await desk.batches.update(WRITE, model, [further, change])])
        if way.name == "restore":
            return str((await desk.crud.restore(WRITE, model, self.row, way.versions)).answer.version)
        if way.name == "upsert":
            return await self._upsert(desk, text)
        if way.name == "delete in a batch":
            await desk.batches.delete(WRITE, model, [self.other, self.row])
        else:
            await getattr(desk.crud, way.name)(WRITE, model, self.row, way.versions)
        return "gone"

    async def _upsert(self, desk: Desk, text: str) -> str:
        if (key := KEYS.get(self.plural)) is None:
            return "no key"
        model = desk.registry[self.plural]
        given: dict[str, str] = {TEXTS[self.plural]: text, key: self.key}
        flags = "".join("01"[name in given] for name in model.names)
        # only as an update of a row that is stored
        refusal = '{"row":1,"message":"is new"}'
        line = written(["1", str(new_id()), flags, refusal, None, *(given.get(name) for name in model.names)])

        async def pieces() -> AsyncIterator[bytes]:
            yield line.encode()

        database: Any = desk.writing.database
        async with database.transaction(HERE) as tx:
            act = Act(by=ADA.user_id, at=NOW)
            return str((await tx.transfers.load(model, pieces(), Loading(act, model.by_name[key]))).imported)

    async def left(self) -> str:
        """The row as it is stored, deleted or not."""
        model = self.desk.registry[self.plural]
        found = []
        for row_id in (self.row, self.other):
            async with self.desk.writing.database.transaction(HERE) as tx:
                current = (await tx.records.current(model, [row_id])).get(row_id)
            # without the id, which is another one in each case
            text = str(current and current.values[TEXTS[self.plural]]).split("/")[0]
            found.append("none" if current is None else f"{current.version} {text}")
        if found[0] == "none":
            found.append(await self.write(Way("restore"), ""))
        return ", ".join(found)


async def case_on(desk: Desk, plural: str, is_deleted: bool) -> Case:
    shelf = (await desk.create("shelves", name=f"{new_id()}")).id if plural == "seats" else None
    rows: list[UUID] = []
    keys: list[str] = []
    for _ in range(2):
        sku = new_id().hex.upper()
        name = f"name/{sku}"
        values: dict[str, dict[str, Any]] = {
            "products": {"name": "a", "sku": sku, "price": Decimal("1.00")},
            "shelves": {"name": name},
            "volumes": {"title": "a"},
            "seats": {"code": name, "shelf_id": shelf},
        }
        rows.append((await desk.create(plural, **values[plural])).id)
        keys.append(sku if plural == "products" else name)
    if is_deleted:
        await desk.crud.delete(WRITE, desk.registry[plural], rows[0], None)
    return Case(desk, plural, rows[0], rows[1], keys[0])


@dataclass
class Interrupted:
    """The database of a writer whom ``interrupt`` interrupts, once, before the statement of this ``place``."""

    database: PostgresDatabase
    place: int
    interrupt: Callable[[], Awaitable[None]]
    statements: int = 0

    @asynccontextmanager
    async def transaction(self, scope: Scope) -> AsyncIterator[PostgresTransaction]:
        async with self.database.transaction(scope) as tx:
            yield self._interrupted(tx)
            await self.next()  # before the commit

    @asynccontextmanager
    async def autocommit(self, scope: Scope) -> AsyncIterator[PostgresTransaction]:
        async with self.database.autocommit(scope) as tx:
            yield self._interrupted(tx)

    async def next(self) -> None:
        self.statements += 1
        if self.statements == self.place:
            await self.interrupt()

    def _interrupted(self, tx: PostgresTransaction) -> PostgresTransaction:
        connection: Any = _Connection(tx.connection, self)
        return PostgresTransaction(connection, tx.registry, tx.ids, tx.scope, tx.searches)


@dataclass
class _Connection:
    real: Any
    writer: Interrupted

    def __getattr__(self, name: str) -> Any:
        return partial(self._run, name) if name in STATEMENTS else getattr(self.real, name)

    async def _run(self, name: str, *arguments: Any, **named: Any) -> Any:
        await self.writer.next()
        return await getattr(self.real, name)(*arguments, **named)


async def raced(case: Case, ways: tuple[Way, Way], place: int, watcher: Any) -> tuple[tuple[str, ...], bool]:
    """Answers of both and what is left, and whether the first writer came to this statement at all."""
    second: list[asyncio.Task[str]] = []

    async def interrupt() -> None:
        second.append(asyncio.create_task(case.write(ways[1], "B")))

        async def is_done_or_waits() -> bool:
            return second[0].done() or bool(await watcher.fetchval(SOMEBODY_WAITS))

        await until(is_done_or_waits, pause=0.002)

    database: Any = Interrupted(case.desk.writing.database, place, interrupt)  # type: ignore[arg-type]
    first = await case.write(ways[0], "A", Desk(database, case.desk.registry))
    if not second:
        return (), False
    answer = await second[0]
    return (first, answer, await case.left()), True


async def in_turn(case: Case, ways: tuple[Way, Way], order: tuple[int, int]) -> tuple[str, ...]:
    answers = {turn: await case.write(ways[turn], "AB"[turn]) for turn in order}
    return answers[0], answers[1], await case.left()


@pytest.fixture
async def watcher(postgres_library: PostgresDatabase) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    connection = await asyncpg.connect(postgres_library.url)
    yield connection
    await connection.close()


@pytest.mark.promise(
    "entities, contract: of two writes of one row each is answered as if they ran one after the other, and none is lost"
)
@pytest.mark.parametrize("is_deleted", [False, True], ids=["live", "deleted"])
@pytest.mark.parametrize("plural", list(TEXTS))
async def test_two_writes_of_a_row_end_as_if_they_ran_one_after_the_other(
    postgres_library: PostgresDatabase, library_registry: Registry, watcher: Any, plural: str, is_deleted: bool
) -> None:
    random = Random(f"{plural} {is_deleted}")
    here = Desk(postgres_library, library_registry)
    pairs = random.sample([(a, b) for a in WAYS for b in WAYS], min(len(WAYS) ** 2, examples(30)))
    revived = [(way, Way("restore")) for way in WAYS if "change" in way.name] if is_deleted else []
    for ways in [*revived, *pairs]:
        wanted = set()
        for order in ((0, 1), (1, 0)):
            memory = Desk(MemoryDatabase(library_registry, CountingIds()), library_registry)
            wanted.add(await in_turn(await case_on(memory, plural, is_deleted), ways, order))
        for place in count(1):
            case = await case_on(here, plural, is_deleted)
            found, was_interrupted = await raced(case, ways, place, watcher)
            if not was_interrupted:
                break
            assert found in wanted, (ways, place)
