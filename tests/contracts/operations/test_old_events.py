"""Events past their retention: deleted by the owner of the trail, at the latest when their month is past it."""

from datetime import datetime, timedelta
from uuid import UUID

import asyncpg
import pytest

from adapters.memory.database import MemoryDatabase
from adapters.memory.upkeep import MemoryUpkeep
from adapters.postgres.connection.login_roles import ensure_login_role
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.operations.upkeep import PostgresUpkeep
from application.ports.upkeep import Upkeep
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import Count, Query
from domain.retention import DatedRecords
from domain.scope import AuditEvent, EveryTenant, OneTenant
from tests.adapters.postgres.test_login_roles import plain_url
from tests.builders import NOW, new_id, tenant

__all__ = ["plain_url"]

HERE, THERE = new_id(), new_id()


@pytest.fixture
def upkeep(database: WholeDatabase, registry: Registry) -> Upkeep:
    if isinstance(database, MemoryDatabase):
        return MemoryUpkeep(database)
    assert isinstance(database, PostgresDatabase)
    return PostgresUpkeep(database.url, registry)


async def add(database: WholeDatabase, tenant_id: UUID, *moments: datetime) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(tenant(id=tenant_id))
        for at in moments:
            await tx.audit.add(tenant_id, AuditEvent(actor_id=None, action="made", occurred_at=at))


async def left(database: WholeDatabase, registry: Registry, tenant_id: UUID) -> int | None:
    async with database.read_only(OneTenant(tenant_id)) as read:
        return (await read.records.page(registry["audit-events"], Query(sort=(), count=Count.EXACT))).total


@pytest.mark.promise(
    "security, audit trail: Events are deleted past a retention that the operator sets, by the owner of the trail alone"
)
async def test_events_of_every_tenant_go_once_their_month_is_past_and_younger_ones_stay(
    database: WholeDatabase, registry: Registry, upkeep: Upkeep
) -> None:
    tick = timedelta.resolution
    await add(database, HERE, NOW + tick, NOW + tick)
    await add(database, THERE, NOW + tick)
    assert await upkeep.forget(DatedRecords.EVENTS, NOW, 2) == 0
    assert [await left(database, registry, place) for place in (HERE, THERE)] == [2, 1]
    past = NOW + timedelta(days=32)
    gone = 0
    while (number := await upkeep.forget(DatedRecords.EVENTS, past, 2)) != 0:
        assert number is not None
        gone += number
    assert gone == 3
    assert [await left(database, registry, place) for place in (HERE, THERE)] == [0, 0]


@pytest.mark.promise(
    "security, audit trail: Events are deleted past a retention that the operator sets, by the owner of the trail alone"
)
async def test_the_role_of_the_service_forgets_nothing(
    postgres: PostgresDatabase,
    registry: Registry,
    database_url: str,
    plain_url: str,  # the fixture
) -> None:
    await add(postgres, HERE, NOW)
    await ensure_login_role(database_url, plain_url)
    assert await PostgresUpkeep(plain_url, registry).forget(DatedRecords.EVENTS, NOW, 10) is None
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with postgres.transaction(EveryTenant()) as tx:
            await tx.connection.execute("DELETE FROM audit_events")
    assert await left(postgres, registry, HERE) == 1
