"""Tenants: found by id and identifier until they are deleted.

Tenants that people make for themselves: their number holds for requests at the same time.
"""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from adapters.memory.cache import MemoryCache
from adapters.memory.clock import CountingIds, MovableClock
from adapters.postgres.database import PostgresDatabase
from application.identity.joining.own_tenants import OwnTenantForm, OwnTenants
from application.ports.identity.users import Listing
from application.ports.whole_database import WholeDatabase
from domain.errors import Conflict, RateLimited
from domain.identity.users import ADMIN, Tenant, TenantSettings
from domain.scope import Caller, EveryTenant, OneTenant
from tests.application.in_memory_service import HERE
from tests.builders import NOW, caller, new_id, role, service_account, tenant, user


async def add(database: WholeDatabase, *tenants: Tenant) -> None:
    async with database.transaction(EveryTenant()) as tx:
        for new_tenant in tenants:
            await tx.tenants.add(new_tenant)


async def test_a_tenant_is_found_as_it_was_stored(database: WholeDatabase) -> None:
    settings = TenantSettings(enabled_features=("a", "b"), custom_settings={"deep": {"list": [1, None, "ä"]}})
    stored = tenant(domain="example.com", settings=settings)
    await add(database, stored)
    async with database.read_only(OneTenant(new_id())) as read:
        assert await read.tenants.by_id(stored.id) == stored
        assert await read.tenants.by_identifier(stored.identifier) == stored
        assert await read.tenants.by_id(new_id()) is None
        assert await read.tenants.by_identifier("none") is None


@pytest.mark.promise("identity, administration: system stays; identifiers are unique among the living")
async def test_an_identifier_is_one_living_tenants(database: WholeDatabase) -> None:
    first, other = tenant(identifier="acme"), tenant(identifier="other")
    await add(database, first, other)
    for attempt in ("add", "save"):
        with pytest.raises(Conflict) as error:
            async with database.transaction(EveryTenant()) as tx:
                await getattr(tx.tenants, attempt)(
                    tenant(id=other.id if attempt == "save" else new_id(), identifier="acme")
                )
        assert [detail.field for detail in error.value.fields] == ["identifier"]
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.remove(first.id, NOW)
    again = tenant(identifier="acme")
    await add(database, again)
    async with database.read_only(EveryTenant()) as read:
        assert await read.tenants.by_identifier("acme") == again


async def test_a_deleted_tenant_is_found_no_more_and_not_saved(database: WholeDatabase) -> None:
    gone = tenant()
    await add(database, gone)
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.remove(gone.id, NOW)
        await tx.tenants.save(gone)
        assert await tx.tenants.by_id(gone.id) is None
        assert await tx.tenants.by_identifier(gone.identifier) is None
        assert await tx.tenants.page(Listing()) == ([], 0)


async def test_deleting_a_tenant_removes_the_roles_held_in_it(database: WholeDatabase) -> None:
    """Roles of the system can be removed then; those of other tenants' members and of the users themselves are kept."""
    gone, living, ada = tenant(), tenant(), user()
    shared, kept, own = role(None, name="Shared"), role(None, name="Kept"), role(None, name="Own")
    program = service_account(gone.id, roles=(shared, kept))
    await add(database, gone, living)
    async with database.transaction(EveryTenant()) as tx:
        for made in (shared, kept, own):
            await tx.roles.add(made)
        await tx.users.add(ada)
        await tx.memberships.save(ada.id, gone.id, [shared.id, kept.id], None, NOW)
        await tx.memberships.save(ada.id, living.id, [kept.id], None, NOW)
        await tx.memberships.set_system_roles(ada.id, [own.id])
        await tx.service_accounts.add(program)
        await tx.tenants.remove(gone.id, NOW)
        assert await tx.roles.held_beside(shared.id) == [()]
        await tx.roles.remove(shared.id)
        state, export = await tx.users.state(ada.id), await tx.personal.of(ada)
        account = await tx.service_accounts.get(gone.id, program.id, NOW)
    assert (state and state.roles) == (own,)
    for still_held in (kept, own):
        with pytest.raises(Conflict):
            async with database.transaction(EveryTenant()) as tx:
                await tx.roles.remove(still_held.id)
    assert account is not None
    assert (account.account.name, account.account.roles) == (program.name, ())
    assert export is not None
    exported = {held.tenant_id: held.roles for held in export.memberships}
    assert exported == {gone.id: [], living.id: ["Kept"]}


async def test_lists_of_the_database_are_sorted_by_the_columns_that_they_have(postgres: PostgresDatabase) -> None:
    async with postgres.read_only(EveryTenant()) as read:
        for page in (read.tenants.page, read.users.page):
            with pytest.raises(ValueError, match="cannot be sorted by 'shoe_size'"):
                await page(Listing(sort_by="shoe_size"))


async def test_saving_replaces_all_but_the_id(database: WholeDatabase) -> None:
    before = tenant()
    after = tenant(id=before.id, name="New", is_active=False, settings=TenantSettings(language="de-DE"))
    await add(database, before)
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.save(after)
        assert await tx.tenants.by_id(before.id) == after


async def test_the_list_filters_searches_sorts_and_pages(database: WholeDatabase) -> None:
    acme = tenant(name="Acme", identifier="acme-1", domain="acme.example")
    beta = tenant(name="Beta", is_active=False, created_at=NOW + timedelta(1))
    await add(database, acme, beta)
    async with database.read_only(EveryTenant()) as read:

        async def listed(**asked: Any) -> tuple[list[str], int]:
            page, total = await read.tenants.page(Listing(**asked))
            return [item.name for item in page], total

        assert await listed() == (["Beta", "Acme"], 2)
        assert await listed(is_active=True) == (["Acme"], 1)
        assert await listed(search="ACME.ex e-1") == (["Acme"], 1)
        assert await listed(search="nothing") == ([], 0)
        assert await listed(sort_by="name", descending=False) == (["Acme", "Beta"], 2)
        assert await listed(sort_by="domain") == (["Beta", "Acme"], 2)
        assert await listed(page=2, page_size=1) == (["Acme"], 2)
        assert await listed(page=9, page_size=1) == ([], 2)


async def test_a_locked_tenant_is_the_same_one(database: WholeDatabase) -> None:
    made, gone = tenant(), tenant()
    async with database.transaction(EveryTenant()) as tx:
        for new_tenant in (made, gone):
            await tx.tenants.add(new_tenant)
        await tx.tenants.remove(gone.id, NOW)
        for lock in (tx.tenants.lock, tx.tenants.lock_to_remove):
            assert await lock(made.id) == made
            assert await lock(gone.id) is None
            assert await lock(new_id()) is None


async def test_changes_to_a_locked_tenant_are_serialized(database: WholeDatabase) -> None:
    made = tenant()
    async with database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(made)

    async def enable(feature: str) -> None:
        async with database.transaction(EveryTenant()) as tx:
            found = await tx.tenants.lock(made.id)
            assert found is not None
            features = (*found.settings.enabled_features, feature)
            await tx.tenants.save(replace(found, settings=replace(found.settings, enabled_features=features)))

    await asyncio.gather(*(enable(str(number)) for number in range(10)))
    async with database.read_only(EveryTenant()) as read:
        stored = await read.tenants.by_id(made.id)
    assert stored is not None
    assert sorted(stored.settings.enabled_features) == sorted(map(str, range(10)))


async def opened(database: WholeDatabase, clock: MovableClock, ids: CountingIds) -> tuple[OwnTenants, Caller]:
    """The use case, and somebody without a tenant."""
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.roles.add(role(None, name=ADMIN))
    return OwnTenants(database, MemoryCache(clock), clock, ids, is_open=True), caller(user_id=ada.id)


async def test_concurrently_created_tenants_stay_within_the_limit_of_a_user(
    database: WholeDatabase, clock: MovableClock, ids: CountingIds
) -> None:
    own, ada = await opened(database, clock, ids)
    made = [own.create(ada, OwnTenantForm(name=f"Mine {number}"), HERE) for number in range(12)]
    answers = await asyncio.gather(*made, return_exceptions=True)
    assert [type(answer) for answer in answers if isinstance(answer, BaseException)] == [RateLimited] * 9
    async with database.read_only(EveryTenant()) as read:
        state = await read.users.state(ada.user_id)
    assert state is not None
    assert len(state.memberships) == 3


async def test_a_name_that_is_taken_gets_the_end_of_the_tenants_id(
    database: WholeDatabase, clock: MovableClock, ids: CountingIds
) -> None:
    own, ada = await opened(database, clock, ids)
    first, second = [await own.create(ada, OwnTenantForm(name="Ours"), HERE) for _ in range(2)]
    assert (first.identifier, second.identifier) == ("ours", f"ours-{second.id.hex[-8:]}")
