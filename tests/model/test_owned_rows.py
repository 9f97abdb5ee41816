"""Whatever members write with whatever rights, each reads what a model of own rows, shares and links says."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from adapters.http.app import HttpSettings
from adapters.memory.clock import CountingIds
from adapters.memory.database import MemoryDatabase
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from adapters.system import Uuid7Ids
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.conftest import NewDatabase
from tests.examples import ASKED
from tests.http.app import ADMIN, SETTINGS, TestApp, client_of, registry_of
from tests.model.notes import ENTITIES
from tests.model.owned_machine import DONE, OwnedMachine, Shop

pytestmark = [pytest.mark.drawn, pytest.mark.timeout(3600 if ASKED else 300)]
PROMISE = pytest.mark.promise(
    "entities, own rows: Whatever members write, share and link, with any rights, each reads the lists, counts, "
    "summaries, includes and files that a small model says"
)


async def open_shop(database: WholeDatabase, registry: Registry) -> TestApp:
    read = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "count"})
    adapters = replace(memory_adapters(read, registry), database=database, ids=Uuid7Ids())
    services = assemble(adapters, read)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings()), services, adapters)
    await app.login("root", ADMIN)
    return app


@contextmanager
def shop_on(database: WholeDatabase, registry: Registry, loop: asyncio.AbstractEventLoop) -> Iterator[Shop]:
    app = loop.run_until_complete(open_shop(database, registry))
    try:
        yield Shop(loop, app)
    finally:
        loop.run_until_complete(app.client.aclose())


def tried(shop: Shop, runs: int, steps: int) -> None:
    """Runs machines in the shop; `-rP` shows how much they did."""
    before = DONE["compared"]
    run_state_machine_as_test(
        type("MachineInShop", (OwnedMachine,), {"shop": shop}),
        settings=settings(
            max_examples=runs,
            stateful_step_count=steps,
            deadline=None,
            # to shrink a failure takes minutes, as each step reads all rows
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
            derandomize=not ASKED,
        ),
    )
    sys.stdout.write(f"{dict(DONE)}\n")
    assert DONE["compared"] - before > runs * steps


@PROMISE
def test_the_memory_database_behaves_like_the_model_of_own_rows() -> None:
    registry, loop = registry_of(ENTITIES), asyncio.new_event_loop()
    with shop_on(MemoryDatabase(registry, CountingIds()), registry, loop) as shop:
        tried(shop, max(3, ASKED // 4), 20)
    loop.close()


@PROMISE
@pytest.mark.skipif(not ASKED, reason="`make fuzz` runs it")
async def test_postgres_behaves_like_the_model_of_own_rows(
    new_database: NewDatabase, tmp_path_factory: pytest.TempPathFactory
) -> None:
    registry, url = registry_of(ENTITIES), await new_database()
    folders: list[Path] = [VERSIONS, tmp_path_factory.mktemp("notes")]
    assert await write_migration(url, registry, "notes", folders) is not None
    assert await upgrade(url, registry, folders) == []

    def run() -> None:
        loop = asyncio.new_event_loop()
        database = PostgresDatabase(url, registry, CountingIds(), connections=4)
        loop.run_until_complete(database.open())
        with shop_on(database, registry, loop) as shop:
            tried(shop, max(3, ASKED // 10), 30)
        loop.run_until_complete(database.close())
        loop.close()

    await asyncio.to_thread(run)
