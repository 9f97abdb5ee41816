"""Databases with entities that hold files, and the use cases on them."""

import itertools
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec import Struct

from adapters.memory.clock import CountingIds, MovableClock
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.entities.checks.conditional_changes import change_of
from application.entities.writing import RowWriter, Write
from application.ports.entities.files import Loaded, Loading
from application.ports.entities.records import NewRow, Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.attachments.files import StoredFile
from domain.entities.query.query import View
from domain.entities.query.read_query import read_view
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, caller, new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.attachments.entities import REGISTRY

EVERY = EveryTenant()
_IDS = CountingIds()
"""Ids of all modules: rows of one may be there in the next."""


@pytest.fixture(scope="session")
async def attached_url(empty_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory) -> str:
    return await with_tables(await empty_database(), tmp_path_factory.mktemp("attached"))


async def with_tables(url: str, folder: Path) -> str:
    """Apply the migrations of the entities; ``folder`` receives the one that is written."""
    assert await write_migration(url, REGISTRY, "attached", (VERSIONS, folder)) is not None
    assert await upgrade(url, REGISTRY, (VERSIONS, folder)) == []
    assert await write_migration(url, REGISTRY, "again", (VERSIONS, folder)) is None
    return url


@pytest.fixture(scope="module")
async def postgres_attached(attached_url: str) -> AsyncIterator[PostgresDatabase]:
    opened = PostgresDatabase(attached_url, REGISTRY, _IDS, connections=12)
    await opened.open()
    yield opened
    await opened.close()


class Usage(Struct, frozen=True):
    bytes: int
    files: int


@dataclass
class Desk:
    """Writes and reads as a user of a new tenant."""

    database: WholeDatabase
    tenant: OneTenant = field(default_factory=lambda: OneTenant(new_id()))
    user: UUID = field(default_factory=new_id)
    clock: MovableClock = field(default_factory=lambda: MovableClock(NOW))
    names: Any = field(default_factory=itertools.count)

    def of_another_user(self) -> "Desk":
        return Desk(self.database, self.tenant, clock=self.clock)

    @property
    def write(self) -> Write:
        who = caller(user_id=self.user, tenant_id=self.tenant.id, permissions=("*",), is_super_admin=True)
        return Write(caller=who, scope=self.tenant)

    @property
    def writer(self) -> RowWriter:
        return RowWriter(self.database, REGISTRY, self.clock)

    async def file(self, purpose: str = "items.photo", size: int = 10, quota: int | None = None) -> UUID:
        """Add a temporary file of the user."""
        file = self.written(purpose, size)
        async with self.database.transaction(self.tenant) as tx:
            await tx.attached_files.add(file)
        async with self.database.transaction(self.tenant) as tx:
            assert await tx.attached_files.complete(file, self.clock.now(), quota)
        return file.id

    def written(self, purpose: str = "items.photo", size: int = 10) -> StoredFile:
        now = self.clock.now()
        return StoredFile(
            tenant_id=self.tenant.id,
            id=new_id(),
            purpose=purpose,
            name="photo.png",
            type="image/png",
            size=size,
            sha256="ab" * 32,
            sizes=("small",),
            state="writing",
            since=now,
            created_at=now,
            created_by=self.user,
        )

    async def add(self, plural: str = "items", **values: object) -> UUID:
        return (await self.add_all(plural, values))[0]

    async def add_all(self, plural: str, *rows: dict[str, object]) -> list[UUID]:
        model = REGISTRY[plural]
        made = []
        for row in rows:
            defaults = {
                each.name: f"{each.name} {next(self.names)}" if each.required else each.default
                for each in model.declared
            }
            made.append(NewRow(new_id(), {**defaults, **row}))
        written = await self.writer.add(self.write, model, made)
        return [stored.id for stored in written.answer]

    async def load(self, text: str, key: str | None = None) -> Loaded:
        """Import rows of ``items`` as a sheet gives them: number, id, for upserts flags, and the declared fields."""

        async def lines() -> AsyncIterator[bytes]:
            yield text.encode()

        model = REGISTRY["items"]
        async with self.database.transaction(self.tenant) as tx:
            loading = Loading(self.write.act(self.clock.now()), None if key is None else model.by_name[key])
            return await tx.transfers.load(model, lines(), loading)

    async def change(self, row_id: UUID, plural: str = "items", **values: Any) -> dict[str, Any]:
        change = change_of(row_id, values, None, {})
        (stored,) = await self.writer.change(self.write, REGISTRY[plural], [change])
        return body(stored)

    async def get(self, row_id: UUID, plural: str = "items", **asked: str) -> dict[str, Any]:
        view = read_view(REGISTRY[plural], REGISTRY, frozenset(), list(asked.items())) if asked else View()
        async with self.database.read_only(self.tenant) as tx:
            stored = await tx.records.get(REGISTRY[plural], row_id, view)
            assert stored is not None
            return body(stored)

    async def remove(self, row_id: UUID, plural: str = "items") -> None:
        await self.writer.remove(self.write, REGISTRY[plural], [row_id], None)

    async def purge(self, row_id: UUID, plural: str = "items") -> None:
        await self.writer.purge(self.write, REGISTRY[plural], row_id, None)

    async def holds(self, row_id: UUID, file_id: UUID, purpose: str = "items.photo") -> bool:
        async with self.database.read_only(self.tenant) as tx:
            return await tx.attached_files.held(purpose, row_id, file_id) is not None

    async def unused(self, at: datetime, most: int = 100) -> Sequence[StoredFile]:
        """Claim the files of the tenant that are older than a moment in any state."""
        async with self.database.transaction(EVERY) as tx:
            claimed = await tx.unused_files.claim(self.clock.now(), at, at, at, most)
        return [file for file in claimed if file.tenant_id == self.tenant.id]

    async def forget(self, files: Sequence[StoredFile]) -> None:
        async with self.database.transaction(EVERY) as tx:
            await tx.unused_files.forget(files)


def body(stored: Stored) -> dict[str, Any]:
    decoded: dict[str, Any] = msgspec.json.decode(stored.body)
    return decoded


@pytest.fixture(params=["memory", "postgres"])
def desk(request: pytest.FixtureRequest) -> Desk:
    if request.param == "memory":
        return Desk(MemoryDatabase(REGISTRY, CountingIds()))
    return Desk(request.getfixturevalue("postgres_attached"))
