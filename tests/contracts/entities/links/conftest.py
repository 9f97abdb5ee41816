"""Databases with entities that have links, and the use cases on them."""

import itertools
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.entities.checks.conditional_changes import change_of
from application.entities.crud import Crud
from application.entities.writing import RowWriter, Write
from application.ports.entities.history import Entry
from application.ports.entities.records import Stored
from application.ports.whole_database import WholeDatabase
from application.primary_reads import PrimaryReads
from domain.entities.query.query import WHOLE
from domain.entities.query.read_query import read_query, read_view
from domain.scope import EveryTenant, OneTenant, OwnRows, Scope
from tests.builders import NOW, caller, new_id
from tests.conftest import NewDatabase
from tests.linked_entities import REGISTRY

Row = dict[str, Any]
_IDS = CountingIds()
"""Ids of all modules: rows of one may be there in the next."""


@pytest.fixture(scope="session")
async def links_url(empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder: Path = tmp_path_factory.mktemp("links")
    url = await empty_database()
    assert await write_migration(url, REGISTRY, "links", (VERSIONS, folder)) is not None
    assert await upgrade(url, REGISTRY, (VERSIONS, folder)) == []
    assert await write_migration(url, REGISTRY, "again", (VERSIONS, folder)) is None
    return url


@pytest.fixture(scope="module")
async def postgres_links(links_url: str) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(links_url, REGISTRY, _IDS, connections=12)
    await opened.open()
    yield opened
    await opened.close()


@dataclass
class Desk:
    """Writes and reads as a tenant's user; each test has a tenant of its own."""

    database: WholeDatabase
    tenant: OneTenant = field(default_factory=lambda: OneTenant(new_id()))
    names: Any = field(default_factory=itertools.count)
    user: UUID = field(default_factory=new_id)

    @property
    def write(self) -> Write:
        who = caller(user_id=self.user, tenant_id=self.tenant.id, permissions=("*",), is_super_admin=True)
        return Write(caller=who, scope=self.tenant)

    def limited(self, plurals: Iterable[str]) -> "Desk":
        """Return the desk of another user of the tenant, who sees and changes own rows of these entities only."""
        user, sees = new_id(), frozenset(plurals)
        touches = frozenset(f"{action}:{plural}" for plural in sees for action in ("create", "update", "delete"))
        return Desk(self.database, OwnRows(self.tenant.id, False, user_id=user, sees=sees, touches=touches), user=user)

    @property
    def writer(self) -> RowWriter:
        return RowWriter(self.database, REGISTRY, MovableClock(NOW))

    @property
    def crud(self) -> Crud:
        return Crud(PrimaryReads(self.database), self.writer, _Ids())

    async def add(self, plural: str, **values: object) -> UUID:
        return (await self.added(plural, **values)).id

    async def added(self, plural: str, **values: object) -> Stored:
        model = REGISTRY[plural]
        defaults = {
            each.name: f"{each.name} {next(self.names)}" if each.required else each.default for each in model.declared
        }
        return (await self.crud.create(self.write, model, {**defaults, **values})).answer

    async def tags(self, number: int) -> list[UUID]:
        return [await self.add("tags") for _ in range(number)]

    async def change(self, plural: str, row_id: UUID, **values: Any) -> Row:
        """Change the fields; ``version`` is the one that the caller saw."""
        version = values.pop("version", None)
        changed = await self.crud.update(self.write, REGISTRY[plural], change_of(row_id, values, version, {}))
        return body(changed)

    async def get(self, plural: str, row_id: UUID, scope: Scope | None = None, **asked: str) -> Row:
        view = read_view(REGISTRY[plural], REGISTRY, frozenset(), list(asked.items())) if asked else WHOLE
        return body(await self.crud.get(scope or self.tenant, REGISTRY[plural], row_id, view))

    async def page(self, plural: str, scope: Scope | None = None, **asked: str) -> list[Row]:
        query = read_query(REGISTRY[plural], REGISTRY, frozenset(), list(asked.items()))
        page = await self.crud.page(scope or self.tenant, REGISTRY[plural], query)
        rows: list[Row] = msgspec.json.decode(page.items)
        if scope is None:
            assert page.total == len(rows)
        return rows

    async def found(self, plural: str, **asked: str) -> set[UUID]:
        return {UUID(row["id"]) for row in await self.page(plural, None, **asked)}

    async def remove(self, plural: str, row_id: UUID) -> None:
        await self.crud.delete(self.write, REGISTRY[plural], row_id, None)

    async def purge(self, plural: str, row_id: UUID) -> None:
        await self.crud.purge(self.write, REGISTRY[plural], row_id, None)

    async def restore(self, plural: str, row_id: UUID) -> Row:
        return body((await self.crud.restore(self.write, REGISTRY[plural], row_id, None)).answer)

    async def history(self, plural: str, row_id: UUID) -> list[Entry]:
        async with self.database.read_only(self.tenant) as tx:
            return (await tx.history.page(REGISTRY[plural], row_id, 0, 20))[0]


class _Ids:
    def new(self) -> UUID:
        return new_id()


def body(stored: Stored) -> Row:
    decoded: Row = msgspec.json.decode(stored.body)
    return decoded


def wire(ids: list[UUID]) -> list[str]:
    return [str(each) for each in ids]


EVERY = EveryTenant()


@pytest.fixture(params=["memory", "postgres"])
def desk(request: pytest.FixtureRequest) -> Desk:
    if request.param == "memory":
        return Desk(MemoryDatabase(REGISTRY, CountingIds()))
    return Desk(request.getfixturevalue("postgres_links"))
