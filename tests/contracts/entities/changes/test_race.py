"""Writers, two sequencers that are killed, and a reader: no entry is lost, repeated or out of order.

``TENANTRY_TEST_EVENTS`` is the number of entries; `make stress` asks for a million.
"""

import asyncio
import os
import random
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, Change, NewRow
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.changes.followed_entities import REGISTRY

EVENTS = int(os.environ.get("TENANTRY_TEST_EVENTS", "4000"))
WRITERS, TENANTS = 32, 4
BLOCK = 100 if EVENTS > 100_000 else 20
"""Rows that a writer changes in one statement."""
KILLS = max(2, EVENTS // 25_000)
LABELS = REGISTRY["labels"]
ACT = Act(new_id(), NOW)
Version = tuple[UUID, int]


class _Aborted(Exception):
    pass


@dataclass
class Race:
    database: PostgresDatabase
    tenants: list[OneTenant] = field(default_factory=lambda: [OneTenant(new_id()) for _ in range(TENANTS)])
    answered: dict[UUID, set[Version]] = field(default_factory=dict)
    aborted: int = 0
    next_kill: int = 0
    kills: int = 0
    started: asyncio.Event = field(default_factory=asyncio.Event)
    due: asyncio.Event = field(default_factory=asyncio.Event)
    is_written: bool = False
    is_over: bool = False

    @property
    def count(self) -> int:
        return sum(map(len, self.answered.values()))

    async def write(self, number: int, contended: dict[OneTenant, list[UUID]]) -> None:
        """Change a block of rows and rows that other writers change too, in transactions of which some are undone."""
        chosen, tenant = random.Random(number), self.tenants[number % TENANTS]
        rows = await self._add(tenant, [new_id() for _ in range(BLOCK)])
        await self.started.wait()
        while self.count < EVENTS or self.kills < KILLS:
            ids = rows if chosen.random() < 0.5 else [chosen.choice(contended[tenant])]
            is_slow, fails = chosen.random() < 0.1, chosen.random() < 0.1
            try:
                async with self.database.transaction(tenant) as tx:
                    changes = [Change(row_id, {"name": f"{row_id} {chosen.random()}"}) for row_id in ids]
                    stored = await tx.records.change(LABELS, changes, ACT)
                    if is_slow:
                        await tx.connection.execute("SELECT pg_sleep(0.05)")
                    if fails:
                        raise _Aborted
            except _Aborted:
                self.aborted += len(ids)
            else:
                self.answered[tenant.id] |= {(each.id, each.version) for each in stored}
                if self.count >= self.next_kill:
                    self.due.set()

    async def _add(self, tenant: OneTenant, ids: list[UUID]) -> list[UUID]:
        async with self.database.transaction(tenant) as tx:
            await tx.records.add(LABELS, [NewRow(each, {"name": str(each)}) for each in ids], ACT)
        self.answered.setdefault(tenant.id, set()).update((each, 1) for each in ids)
        return ids

    async def read(self, tenant: OneTenant) -> set[Version]:
        """Follow the stream of a tenant to its end."""
        position, versions = 0, dict[UUID, int]()
        while True:
            is_last = self.is_over
            async with self.database.read_only(tenant) as read:
                head = (await read.changes.heads()).own
                found = await read.changes.after("own", position, head, 5_000, ["labels"])
            for entry in found.entries:
                assert entry.position == position + 1, "a gap"
                assert entry.version == versions.get(entry.row_id, 0) + 1, "the versions of a row are out of order"
                position, versions[entry.row_id] = entry.position, entry.version
            if is_last and position == head:
                return {(row_id, each) for row_id, last in versions.items() for each in range(1, last + 1)}
            if not found.entries:
                await asyncio.sleep(0.02)

    async def kill(self, url: str) -> None:
        """Run two sequencers, and kill and replace one after the other."""
        running = [await sequencer(url) for _ in range(2)]
        self.started.set()
        try:
            while not self.is_written:
                await self.due.wait()
                self.due.clear()
                self.next_kill += EVENTS // KILLS
                killed = running.pop(0)
                killed.kill()
                await killed.wait()
                self.kills += 1
                running.append(await sequencer(url))
            while await self._is_behind():  # noqa: ASYNC110  # another process empties the queue
                await asyncio.sleep(0.02)
        finally:
            self.is_over = True
            for each in running:
                each.kill()
                await each.wait()

    async def _is_behind(self) -> bool:
        async with self.database.read_only(EveryTenant()) as read:
            return await read.change_queue.oldest() is not None


async def sequencer(url: str) -> Process:
    module = "tests.contracts.entities.changes.sequencing_process"
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", module, url, stdout=PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(url, REGISTRY, CountingIds(), connections=20)
    await database.open()
    yield database
    await database.close()


@pytest.mark.promise("entities, changes: no entry is lost or out of order while sequencers are killed in mid-batch")
@pytest.mark.timeout(7_200)
async def test_killed_sequencers_lose_and_reorder_nothing(followed_url: str) -> None:
    async with opened(followed_url) as database:
        race = Race(database)
        contended = {tenant: await race._add(tenant, [new_id() for _ in range(20)]) for tenant in race.tenants}
        readers = [asyncio.create_task(race.read(tenant)) for tenant in race.tenants]
        killing = asyncio.create_task(race.kill(followed_url))
        await asyncio.gather(*(race.write(number, contended) for number in range(WRITERS)))
        race.is_written = True
        race.due.set()
        await killing
        read = await asyncio.gather(*readers)
    assert race.kills >= KILLS
    assert race.aborted > 0
    assert dict(zip((tenant.id for tenant in race.tenants), read, strict=True)) == race.answered
    # `make stress` shows it.
    sys.stdout.write(f"{race.count} entries, {race.aborted} undone, {race.kills} kills\n")
