"""Service accounts of a tenant: their names, roles and states, and nothing of them from another tenant."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.postgres.database import PostgresDatabase
from application.ports.identity.service_accounts import KeyUse
from application.ports.identity.users import Listing
from application.ports.whole_database import WholeDatabase
from domain.errors import Conflict, NotFound
from domain.identity.service_accounts import ServiceAccount, key_digest
from domain.identity.users import Tenant
from domain.scope import EveryTenant
from tests.builders import NOW, api_key, new_id, role, service_account, tenant

LATER = NOW + timedelta(hours=1)


@pytest.fixture
async def tenants(database: WholeDatabase) -> list[Tenant]:
    made = [tenant(), tenant()]
    async with database.transaction(EveryTenant()) as tx:
        for new_tenant in made:
            await tx.tenants.add(new_tenant)
    return made


async def add(database: WholeDatabase, *accounts: ServiceAccount) -> None:
    async with database.transaction(EveryTenant()) as tx:
        for account in accounts:
            for held in account.roles:
                await tx.roles.add(held)
            await tx.service_accounts.add(account)


async def test_a_service_account_is_read_with_its_roles_only_by_its_tenant(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here, there = tenants
    held = (role(here.id, name="A", permissions=("read:products",)), role(None, name="B"))
    account = service_account(here.id, description="Nightly", is_active=False, roles=held)
    await add(database, account)
    async with database.read_only(EveryTenant()) as read:
        found = await read.service_accounts.get(here.id, account.id, NOW)
        assert found is not None
        assert (found.account, found.keys, found.last_used_at, found.next_end) == (account, 0, None, None)
        assert await read.service_accounts.get(there.id, account.id, NOW) is None
        assert await read.service_accounts.get(here.id, new_id(), NOW) is None


async def test_nothing_is_stored_of_an_account_of_a_deleted_tenant(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here, _ = tenants
    account, held = service_account(here.id), role(None, name="Held")
    await add(database, account)
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.add(held)
        await tx.tenants.remove(here.id, NOW)
    for store, stored in (("add", service_account(here.id, roles=(held,))), ("save", replace(account, roles=(held,)))):
        with pytest.raises(NotFound):
            async with database.transaction(EveryTenant()) as tx:
                await getattr(tx.service_accounts, store)(stored)
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.remove(held.id)


async def test_a_name_is_taken_once_in_a_tenant_and_free_after_the_deletion(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here, there = tenants
    first = service_account(here.id, name="Import")
    await add(database, first, service_account(there.id, name="import"))
    for taken in (service_account(here.id, name="IMPORT"), service_account(here.id, name="Import")):
        with pytest.raises(Conflict) as error:
            await add(database, taken)
        assert [detail.field for detail in error.value.fields] == ["name"]
    other = service_account(here.id, name="Other")
    await add(database, other)
    with pytest.raises(Conflict):
        async with database.transaction(EveryTenant()) as tx:
            await tx.service_accounts.save(replace(other, name="import"))
    async with database.transaction(EveryTenant()) as tx:
        await tx.service_accounts.remove(here.id, first.id, NOW)
    await add(database, service_account(here.id, name="import"))


async def test_a_saved_service_account_is_read_with_its_changes(database: WholeDatabase, tenants: list[Tenant]) -> None:
    here, there = tenants
    account = service_account(here.id, roles=(role(here.id, name="Old"), role(here.id, name="Kept")))
    new = role(here.id, name="New")
    await add(database, account)
    changed = replace(account, name="N", description="d", is_active=False, roles=(account.roles[1], new))
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.add(new)
        await tx.service_accounts.save(changed)
        await tx.service_accounts.save(replace(changed, tenant_id=there.id, name="hijacked", roles=()))
        found = await tx.service_accounts.get(here.id, account.id, NOW)
        assert found is not None
        assert found.account == changed


async def test_a_role_that_an_account_holds_stays(database: WholeDatabase, tenants: list[Tenant]) -> None:
    account = service_account(tenants[0].id, roles=(role(tenants[0].id),))
    await add(database, account)
    with pytest.raises(Conflict):
        async with database.transaction(EveryTenant()) as tx:
            await tx.roles.remove(account.roles[0].id)
    async with database.transaction(EveryTenant()) as tx:
        await tx.service_accounts.remove(tenants[0].id, account.id, NOW)
        await tx.roles.remove(account.roles[0].id)


async def test_roles_held_with_a_role_include_those_of_service_accounts(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    own, more = role(tenants[0].id), role(tenants[0].id)
    await add(database, service_account(tenants[0].id, roles=(own, more)))
    async with database.read_only(EveryTenant()) as read:
        assert {frozenset(beside) for beside in await read.roles.held_beside(own.id)} == {
            frozenset(),
            frozenset([more]),
        }


@pytest.mark.promise("GET /api/service-accounts")
async def test_the_list_filters_searches_sorts_and_pages(database: WholeDatabase, tenants: list[Tenant]) -> None:
    here, there = tenants
    names = ("Alpha", "beta", "Gamma")
    made = [
        service_account(here.id, name=name, description=f"d{at}", is_active=at != 1, created_at=NOW + timedelta(at))
        for at, name in enumerate(names)
    ]
    made[2] = replace(made[2], roles=(role(here.id, name="Reader"),))
    await add(database, *made, service_account(there.id, name="Alpha"))
    last = NOW + timedelta(days=9)

    async def listed(**given: Any) -> tuple[list[str], int]:
        listing = Listing(tenant_id=here.id, **given)
        async with database.read_only(EveryTenant()) as read:
            found, total = await read.service_accounts.page(listing, last)
        return [item.account.name for item in found], total

    assert await listed() == (["Gamma", "beta", "Alpha"], 3)
    assert await listed(sort_by="name", descending=False) == (["Alpha", "Gamma", "beta"], 3)
    assert await listed(sort_by="is_active", descending=False) == (["beta", "Alpha", "Gamma"], 3)
    assert await listed(sort_by="is_active") == (["Alpha", "Gamma", "beta"], 3)
    assert await listed(is_active=False) == (["beta"], 1)
    assert await listed(role="Reader") == (["Gamma"], 1)
    assert await listed(search="AMM d2") == (["Gamma"], 1)
    assert await listed(search="d_") == ([], 0)
    assert await listed(page=2, page_size=2) == (["Alpha"], 3)
    assert await listed(page=3, page_size=2) == ([], 3)
    assert await listed(page=2, page_size=3) == ([], 3)


async def test_live_keys_are_counted_and_the_last_use_of_any_key_is_shown(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here = tenants[0]
    account = service_account(here.id)
    living, ended, expired = api_key(account, expires_at=LATER), api_key(account), api_key(account, expires_at=NOW)
    endless, later = api_key(account), api_key(account, expires_at=LATER + timedelta(days=1))
    await add(database, account)
    async with database.transaction(EveryTenant()) as tx:
        for number, key in enumerate((living, ended, expired, endless, later)):
            await tx.api_keys.add(key, key_digest(str(number)))
        await tx.api_keys.end(ended, NOW)
        await tx.api_keys.note_uses([KeyUse(ended.id, LATER, "192.0.2.1"), KeyUse(living.id, NOW, "192.0.2.1")])
        found = await tx.service_accounts.get(here.id, account.id, NOW)
        assert found is not None
        assert (found.keys, found.last_used_at, found.next_end) == (3, LATER, LATER)
        # a rotated key ends with its overlap, before it would expire
        await tx.api_keys.end(later, NOW + timedelta(minutes=1))
        found = await tx.service_accounts.get(here.id, account.id, NOW)
        assert found is not None
        assert (found.keys, found.next_end) == (3, NOW + timedelta(minutes=1))


async def test_removing_a_service_account_removes_its_keys_and_only_in_its_tenant(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here, there = tenants
    account = service_account(here.id)
    key, ended = api_key(account), api_key(account)
    await add(database, account)
    async with database.transaction(EveryTenant()) as tx:
        await tx.api_keys.add(key, key_digest("key"))
        await tx.api_keys.add(ended, key_digest("ended"))
        await tx.api_keys.end(ended, NOW)
        await tx.service_accounts.remove(there.id, account.id, LATER)
        assert await tx.service_accounts.get(here.id, account.id, NOW) is not None
        await tx.service_accounts.remove(here.id, account.id, LATER)
        assert await tx.service_accounts.get(here.id, account.id, NOW) is None
        assert await tx.service_accounts.page(Listing(tenant_id=here.id), NOW) == ([], 0)
        assert await tx.api_keys.state(key_digest("key")) is None
        assert await tx.service_accounts.lock(here.id) == 0


@pytest.mark.promise("keys, cost: Quotas of accounts and keys hold for requests at once")
async def test_accounts_are_counted_under_a_lock(postgres: PostgresDatabase) -> None:
    here = tenant()
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.tenants.add(here)

    async def make() -> None:
        async with postgres.transaction(EveryTenant()) as tx:
            if await tx.service_accounts.lock(here.id) < 2:
                await tx.service_accounts.add(service_account(here.id))

    await asyncio.gather(*(make() for _ in range(6)))
    async with postgres.transaction(EveryTenant()) as tx:
        assert await tx.service_accounts.lock(here.id) == 2
