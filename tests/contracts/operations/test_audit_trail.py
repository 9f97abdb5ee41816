"""The audit trail: lines are rows of the entity ``audit-events`` in their tenant."""

from uuid import UUID

import msgspec
import pytest

from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE, Path, Query, SortKey
from domain.scope import AuditEvent, EveryTenant, OneTenant
from tests.builders import NOW, new_id

NEWEST = Query(sort=(SortKey(Path((), "occurred_at"), True), SortKey(Path((), "id"), True)))


@pytest.mark.promise("identity, administration: the audit trail, by tenant")
async def test_an_event_is_read_in_its_own_tenant(database: WholeDatabase, registry: Registry) -> None:
    here, there = new_id(), new_id()
    event = AuditEvent(actor_id=new_id(), action="login.succeeded", target_id=None, address="::1", occurred_at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.audit.add(here, event)
    pages = {}
    for tenant_id in (here, there):
        async with database.read_only(OneTenant(tenant_id)) as read:
            pages[tenant_id] = await read.records.page(registry["audit-events"], NEWEST)
    assert pages[there].length == 0
    (row,) = msgspec.json.decode(pages[here].items)
    assert (row["action"], row["actorId"], row["tenantId"]) == ("login.succeeded", str(event.actor_id), str(here))
    assert row["occurredAt"] == "2026-11-20T12:00:00.123456Z"


async def test_each_tenant_that_is_told_has_a_line_of_its_own(database: WholeDatabase, registry: Registry) -> None:
    told, other = [new_id() for _ in range(3)], new_id()
    event = AuditEvent(actor_id=new_id(), action="user.changed", target_id=new_id(), address="::1", occurred_at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.audit.add_to_each([*told, told[0]], event)
        await tx.audit.add_to_each([], event)
    rows = []
    for tenant_id in (*told, other):
        async with database.read_only(OneTenant(tenant_id)) as read:
            rows.append(msgspec.json.decode((await read.records.page(registry["audit-events"], NEWEST)).items))
    assert [len(lines) for lines in rows] == [1, 1, 1, 0]
    assert len({line["id"] for (line,) in rows[:3]}) == 3
    assert {(line["action"], line["targetId"]) for (line,) in rows[:3]} == {("user.changed", str(event.target_id))}


async def test_an_event_never_changes_and_has_no_version(database: WholeDatabase, registry: Registry) -> None:
    here = new_id()
    event = AuditEvent(actor_id=new_id(), action="login.succeeded", target_id=None, address="::1", occurred_at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.audit.add(here, event)
    async with database.read_only(OneTenant(here)) as read:
        page = await read.records.page(registry["audit-events"], NEWEST)
        (row,) = msgspec.json.decode(page.items)
        stored = await read.records.get(registry["audit-events"], UUID(row["id"]), WHOLE)
    assert stored is not None
    assert stored.version == 0
