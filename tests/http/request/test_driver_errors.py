"""Errors of the database's driver as a client sees them: 503 for an outage, 500 for a fault, explained in the log."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
import pytest

from adapters.http.app import HttpSettings
from adapters.memory.clock import CountingIds
from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.database import PostgresDatabase
from application.primary_reads import PrimaryReads
from domain.entities.declaration import Registry
from domain.scope import Scope
from tests.adapters.postgres.connection.proxy import CuttingProxy
from tests.adapters.postgres.connection.test_failures import FAULTS
from tests.http.app import TestApp, client_of


@dataclass
class FaultyRecords:
    """Rows whose every page is asked for with a faulty statement, or with a good one."""

    connection: ServiceConnection
    fault: str | None

    async def page(self, *_: object) -> object:
        if self.fault is None:
            return await self.connection.fetchval("SELECT 1")
        return await FAULTS[self.fault][0](self.connection)


@dataclass
class FaultyTransaction:
    records: FaultyRecords


@dataclass
class FaultyDatabase:
    database: PostgresDatabase
    fault: str | None = None

    @asynccontextmanager
    async def read_only(self, scope: Scope) -> AsyncIterator[FaultyTransaction]:
        async with self.database.read_only(scope) as read:
            yield FaultyTransaction(FaultyRecords(read.connection, self.fault))


async def page_of(app: TestApp, database: Any) -> httpx.Response:
    crud = replace(app.services.crud, reads=PrimaryReads(database))
    async with client_of(replace(app.services, crud=crud), HttpSettings()) as client:
        return await client.get("/api/products", headers={"Authorization": f"Bearer {app.tokens['acme']}"})


@pytest.mark.promise(
    "declarations, internal errors: every fault of a statement or the driver, InterfaceError included, is a 500 that "
    "is logged with its trace and tells nothing"
)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_driver_fault_is_a_500_that_is_logged_and_reveals_nothing(
    app: TestApp, postgres: PostgresDatabase, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    answer = await page_of(app, FaultyDatabase(postgres, fault))
    told = answer.json()["error"]
    assert (answer.status_code, told["code"]) == (500, "INTERNAL_ERROR")
    assert "retry-after" not in answer.headers
    assert told.keys() == {"code", "message", "traceId"}
    assert told["message"] == "Something went wrong on our side."
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.exc_info is not None
    assert record.exc_info[0] is not None
    assert issubclass(record.exc_info[0], FAULTS[fault][1])


@pytest.mark.promise(
    "declarations, internal errors: a lost connection is a 503: cut, cut in the middle, closed as it is made, or silent"
)
async def test_a_lost_connection_is_a_503(
    app: TestApp, postgres: PostgresDatabase, database_url: str, registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    async with CuttingProxy(database_url) as proxy:
        database = PostgresDatabase(proxy.url, registry, CountingIds())
        await database.open()
        proxy.cut()
        answer = await page_of(app, FaultyDatabase(database))
        await database.close()
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
    assert int(answer.headers["retry-after"]) > 0
    assert [record.levelname for record in caplog.records if record.levelno >= logging.WARNING] == ["WARNING"]
