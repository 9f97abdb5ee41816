"""Reads whose client leaves: their statements end in PostgreSQL, which would go on for a search that nobody awaits."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from adapters.http.app import HttpSettings
from adapters.postgres.database import PostgresDatabase
from domain.entities.declaration import Registry
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.http.app import SETTINGS, TestApp, client_of
from tests.http.built_once import asgi_of
from tests.http.conftest import seed
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import HUNG_AFTER, until

if TYPE_CHECKING:
    import asyncpg


@pytest_asyncio.fixture
async def app(postgres: PostgresDatabase, registry: Registry) -> AsyncIterator[TestApp]:
    """The service on PostgreSQL."""
    settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "off"})
    adapters = replace(memory_adapters(settings, registry), database=postgres, ids=postgres.ids)
    services = assemble(adapters, settings)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings()), services, adapters)
    await seed(app)
    yield app
    await app.client.aclose()


@pytest.mark.parametrize(("path", "table"), [("", "categories"), ("/{id}/history", "row_history")])
async def test_the_statement_of_a_read_ends_with_its_client(
    app: TestApp, owner: "asyncpg.Connection[asyncpg.Record]", path: str, table: str
) -> None:
    made = await app.call("POST", "/api/categories", as_whom="acme", json={"name": f"Lamps of {table}"})
    has_left, answered, path = (
        asyncio.Event(),
        list[int | None](),
        "/api/categories" + path.format(id=made.json()["data"]["id"]),
    )
    scope: Any = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "client": ("127.0.0.1", 1),
        "headers": [(b"host", b"localhost"), (b"authorization", b"Bearer " + app.tokens["acme"].encode())],
    }

    async def receive() -> Any:
        await has_left.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        answered.append(message.get("status"))

    asgi: Any = asgi_of(app.services, HttpSettings())
    async with owner.transaction(), asyncio.timeout(HUNG_AFTER):
        await owner.execute(f"LOCK TABLE {table}")
        request = asyncio.create_task(asgi(scope, receive, send))
        await until(lambda: owner.fetchval(SOMEBODY_WAITS))
        has_left.set()
        await request
        await until(lambda: owner.fetchval(SOMEBODY_WAITS), answer=False)
    assert 503 not in answered  # as after the server's time for a lock
    assert (await app.call("GET", path, as_whom="acme")).status_code == 200
