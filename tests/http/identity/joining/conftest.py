"""Fixtures of the ways into a tenant."""

from collections.abc import AsyncIterator
from dataclasses import fields
from typing import cast

import pytest_asyncio

from adapters.memory.admissions import MemoryAdmissions
from adapters.memory.dns import MemoryDnsRecords
from tests.http.identity.joining.invited import Invited, open_invited


@pytest_asyncio.fixture(scope="module")
async def opened() -> AsyncIterator[Invited]:
    async with open_invited() as invited:
        yield invited


@pytest_asyncio.fixture
async def invited(opened: Invited) -> AsyncIterator[Invited]:
    """Two tenants in which nothing lasts: opening them takes longer than most tests."""
    tenants, now, before = opened.tenants, opened.clock.now(), opened.database.committed().copy()
    tokens, users, roles = dict(tenants.app.tokens), dict(tenants.users), dict(tenants.roles)
    yield opened
    tenants.app.tokens, tenants.users, tenants.roles = tokens, users, roles
    opened.clock.move(now - opened.clock.now())
    async with opened.database.changing() as store:
        for room in fields(store):
            setattr(store, room.name, getattr(before, room.name))
    cast(MemoryAdmissions, tenants.app.adapters.admissions).forget()
    dns = cast(MemoryDnsRecords, tenants.app.adapters.dns)
    dns.records, dns.aliases, dns.is_away = {}, {}, False
