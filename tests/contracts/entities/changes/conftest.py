"""Databases with entities that have a feed, and a desk that writes rows and reads the log."""

import itertools
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec import UNSET

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.memory.wakes import MemoryWakes
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.entities.changes.sequencing import Sequencer
from application.entities.checks.conditional_changes import change_of
from application.entities.crud import Crud
from application.entities.writing import RowWriter, Write
from application.ports.entities.changes import LogEntry
from application.ports.entities.records import NewRow
from application.ports.whole_database import WholeDatabase
from application.primary_reads import PrimaryReads
from domain.scope import OneTenant
from tests.builders import NOW, caller, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.changes.followed_entities import FEEDS, REGISTRY

Line = tuple[str, str, int]
_IDS = CountingIds()
"""Ids of all modules: rows of one may be there in the next."""


@pytest.fixture(scope="session")
async def followed_url(empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("followed")
    url = await empty_database()
    assert await write_migration(url, REGISTRY, "followed", (VERSIONS, folder)) is not None
    assert await upgrade(url, REGISTRY, (VERSIONS, folder)) == []
    return url


@pytest.fixture(scope="module")
async def postgres_followed(followed_url: str) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(followed_url, REGISTRY, _IDS, connections=12)
    await opened.open()
    yield opened
    await opened.close()


class Ids:
    def new(self) -> UUID:
        return new_id()


@dataclass
class Desk:
    """Writes as a tenant's administrator; each test has a separate tenant. ``seen`` is the position read last."""

    database: WholeDatabase
    tenant: OneTenant = field(default_factory=lambda: OneTenant(new_id()))
    user: UUID = field(default_factory=new_id)
    names: Any = field(default_factory=itertools.count)
    clock: MovableClock = field(default_factory=lambda: MovableClock(NOW))
    seen: int = 0
    seen_shared: int = 0

    @property
    def write(self) -> Write:
        who = caller(user_id=self.user, tenant_id=self.tenant.id, permissions=("*",), is_super_admin=True)
        return Write(caller=who, scope=self.tenant)

    @property
    def writer(self) -> RowWriter:
        return RowWriter(self.database, REGISTRY, self.clock)

    @property
    def crud(self) -> Crud:
        return Crud(PrimaryReads(self.database), self.writer, Ids())

    def values(self, plural: str, **given: object) -> dict[str, object]:
        made = {each.name: each.default for each in REGISTRY[plural].declared}
        named = {name: f"{name} {next(self.names)}" for name, default in made.items() if default is UNSET}
        return {**made, **named, **given}

    async def add(self, plural: str, **given: object) -> UUID:
        return (await self.crud.create(self.write, REGISTRY[plural], self.values(plural, **given))).answer.id

    async def add_all(self, plural: str, *rows: Mapping[str, object]) -> list[UUID]:
        new = [NewRow(new_id(), self.values(plural, **row)) for row in rows]
        await self.writer.add(self.write, REGISTRY[plural], new)
        return [row.id for row in new]

    async def change(self, plural: str, row_id: UUID, **values: object) -> dict[str, Any]:
        changed = await self.crud.update(self.write, REGISTRY[plural], change_of(row_id, values, None, {}))
        body: dict[str, Any] = msgspec.json.decode(changed.body)
        return body

    async def remove(self, plural: str, row_id: UUID) -> None:
        await self.crud.delete(self.write, REGISTRY[plural], row_id, None)

    async def purge(self, plural: str, row_id: UUID) -> None:
        await self.crud.purge(self.write, REGISTRY[plural], row_id, None)

    async def restore(self, plural: str, row_id: UUID) -> None:
        await self.crud.restore(self.write, REGISTRY[plural], row_id, None)

    async def sequence(self) -> None:
        while await Sequencer(self.database, MemoryWakes()).sequence():
            pass

    async def entries(self) -> list[LogEntry]:
        """The entries of the tenant since the last call."""
        await self.sequence()
        async with self.database.read_only(self.tenant) as read:
            head = (await read.changes.heads()).own
            found = await read.changes.after("own", self.seen, head, 10_000, FEEDS)
        assert [entry.position for entry in found.entries] == list(range(self.seen + 1, head + 1))
        self.seen = found.reached
        return list(found.entries)

    async def shared_entries(self) -> list[LogEntry]:
        """The entries of the rows that all tenants share, since the last call."""
        await self.sequence()
        async with self.database.read_only(self.tenant) as read:
            head = (await read.changes.heads()).shared
            found = await read.changes.after("shared", self.seen_shared, head, 10_000, FEEDS)
        self.seen_shared = head
        return list(found.entries)

    async def lines(self) -> list[Line]:
        return [(entry.entity, entry.action, entry.version) for entry in await self.entries()]


def data_of(entry: LogEntry) -> dict[str, Any]:
    assert entry.data is not None
    decoded: dict[str, Any] = msgspec.json.decode(entry.data)
    return decoded


def was_of(entry: LogEntry) -> dict[str, Any]:
    assert entry.was is not None
    decoded: dict[str, Any] = msgspec.json.decode(entry.was)
    return decoded


@pytest.fixture(params=["memory", "postgres"])
def desk(request: pytest.FixtureRequest) -> Desk:
    if request.param == "memory":
        return Desk(MemoryDatabase(REGISTRY, CountingIds()))
    return Desk(request.getfixturevalue("postgres_followed"))
