"""Memberships: at most one per user and tenant, one of them the default."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from application.ports.identity.users import Listing
from application.ports.whole_database import Transaction, WholeDatabase
from domain.errors import Conflict, NotFound
from domain.identity.administration import ensure_owner_stays
from domain.identity.users import Membership, Tenant, User
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id, role, tenant, user


@pytest.fixture
async def ada(database: WholeDatabase) -> User:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
    return ada


@pytest.fixture
async def tenants(database: WholeDatabase) -> list[Tenant]:
    made = [tenant() for _ in range(3)]
    async with database.transaction(EveryTenant()) as tx:
        for new_tenant in made:
            await tx.tenants.add(new_tenant)
    return made


async def of(tx: Transaction, member: User) -> tuple[Membership, ...]:
    state = await tx.users.state(member.id)
    assert state is not None
    return state.memberships


async def test_the_first_is_the_default_until_the_mark_is_moved(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    first, second, _ = tenants
    async with database.transaction(EveryTenant()) as tx:
        assert await tx.memberships.save(ada.id, first.id, [], None, NOW)
        assert await tx.memberships.save(ada.id, second.id, [], False, NOW + timedelta(1))
        assert [membership.is_default for membership in await of(tx, ada)] == [True, False]
        assert not await tx.memberships.save(ada.id, second.id, [], True, NOW + timedelta(2))
        assert [membership.is_default for membership in await of(tx, ada)] == [False, True]
        assert [membership.joined_at for membership in await of(tx, ada)] == [NOW, NOW + timedelta(1)]


async def test_saving_again_replaces_the_roles(database: WholeDatabase, ada: User, tenants: list[Tenant]) -> None:
    here = tenants[0]
    a, b, c = (role(here.id, name=name) for name in "ABC")
    async with database.transaction(EveryTenant()) as tx:
        for new_role in (a, b, c):
            await tx.roles.add(new_role)
        await tx.memberships.save(ada.id, here.id, [b.id, a.id, b.id], None, NOW)
        assert (await of(tx, ada))[0].roles == (a, b)
        await tx.memberships.save(ada.id, here.id, [c.id, b.id], None, NOW)
        assert (await of(tx, ada))[0].roles == (b, c)


async def test_removing_the_default_moves_the_mark_to_the_oldest(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    async with database.transaction(EveryTenant()) as tx:
        for days, new_tenant in enumerate(tenants):
            await tx.memberships.save(ada.id, new_tenant.id, [], None, NOW + timedelta(3 - days))
        assert await tx.memberships.remove(ada.id, tenants[0].id)
        assert not await tx.memberships.remove(ada.id, tenants[0].id)
        left = {membership.tenant_id: membership.is_default for membership in await of(tx, ada)}
    assert left == {tenants[2].id: True, tenants[1].id: False}


async def defaults(tx: Transaction, *members: User) -> list[list[UUID]]:
    return [[held.tenant_id for held in await of(tx, member) if held.is_default] for member in members]


async def test_removing_a_tenant_moves_each_default_to_the_oldest_that_is_left(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    gone, younger, older = tenants
    bob, eve = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        for member in (bob, eve):
            await tx.users.add(member)
            await tx.memberships.save(member.id, gone.id, [], None, NOW)
        await tx.memberships.save(ada.id, gone.id, [], None, NOW)
        for member in (ada, bob):
            await tx.memberships.save(member.id, older.id, [], None, NOW + timedelta(1))
            await tx.memberships.save(member.id, younger.id, [], member is bob, NOW + timedelta(2))
        await tx.tenants.remove(gone.id, NOW)
        assert await defaults(tx, ada, bob, eve) == [[older.id], [younger.id], []]
        await tx.memberships.save(eve.id, younger.id, [], None, NOW + timedelta(3))
        assert await defaults(tx, eve) == [[younger.id]]
        await tx.tenants.remove(older.id, NOW)
        await tx.tenants.remove(older.id, NOW)
        assert await defaults(tx, ada, bob) == [[younger.id], [younger.id]]


async def test_the_mark_does_not_move_to_a_deleted_tenant(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    gone, left, living = tenants
    async with database.transaction(EveryTenant()) as tx:
        for days, new_tenant in enumerate(tenants):
            await tx.memberships.save(ada.id, new_tenant.id, [], new_tenant is left, NOW + timedelta(days))
        await tx.tenants.remove(gone.id, NOW)
        await tx.memberships.remove(ada.id, left.id)
        assert await defaults(tx, ada) == [[living.id]]


async def test_the_removal_of_a_tenant_and_a_membership_in_it_wait_for_each_other_in_one_order(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    """The account is locked first, and the tenant second: neither holds what the other one needs next."""
    here, there, _ = tenants

    async def remove() -> None:
        async with database.transaction(EveryTenant()) as tx:
            assert await tx.tenants.lock_to_remove(here.id) is not None
            await tx.tenants.remove(here.id, NOW)

    async with database.transaction(EveryTenant()) as tx:
        await tx.memberships.save(ada.id, here.id, [], None, NOW)
        await tx.memberships.save(ada.id, there.id, [], None, NOW + timedelta(1))
    async with database.transaction(EveryTenant()) as tx:
        await tx.memberships.lock(ada.id)
        removing = asyncio.create_task(remove())
        await asyncio.wait([removing], timeout=0.1)
        await tx.memberships.save(ada.id, here.id, [], True, NOW)
    await removing
    async with database.read_only(EveryTenant()) as read:
        assert await defaults(read, ada) == [[there.id]]


async def test_a_visit_is_a_place_without_roles(database: WholeDatabase, tenants: list[Tenant]) -> None:
    async with database.transaction(EveryTenant()) as tx:
        visit = await tx.memberships.visit(tenants[0].id, NOW)
        assert visit == Membership(
            tenant_id=tenants[0].id,
            tenant_name="Example",
            tenant_identifier=tenants[0].identifier,
            tenant_is_active=True,
            is_default=False,
            joined_at=NOW,
        )
        await tx.tenants.remove(tenants[0].id, NOW)
        assert await tx.memberships.visit(tenants[0].id, NOW) is None
        assert await tx.memberships.visit(new_id(), NOW) is None


async def test_system_roles_are_replaced_as_a_set(database: WholeDatabase, ada: User) -> None:
    a, b = role(None, name="A"), role(None, name="B")
    async with database.transaction(EveryTenant()) as tx:
        for new_role in (a, b):
            await tx.roles.add(new_role)
        for held in ((a, b), (b,), ()):
            await tx.memberships.set_system_roles(ada.id, [stored_role.id for stored_role in held])
            state = await tx.users.state(ada.id)
            assert state is not None
            assert state.roles == held


async def test_system_roles_show_in_every_tenant(database: WholeDatabase) -> None:
    shared = role(None)
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.add(shared)
    async with database.read_only(OneTenant(tenant_id := new_id())) as read:
        assert shared in [listed.role for listed in await read.roles.visible(tenant_id)]


@pytest.mark.promise("identity, administration: what is checked of a user is still so when it is changed")
async def test_what_was_read_under_the_lock_stays_true_until_the_end(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    """The second of two transactions that make a membership if there is none sees the first one's."""
    given = [role(tenants[0].id), role(tenants[0].id)]
    async with database.transaction(EveryTenant()) as tx:
        for new_role in given:
            await tx.roles.add(new_role)

    async def join(role_id: UUID) -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(ada.id)
            if not await of(tx, ada):
                await tx.memberships.save(ada.id, tenants[0].id, [role_id], None, NOW)

    await asyncio.gather(*(join(stored_role.id) for stored_role in given * 3))
    async with database.read_only(EveryTenant()) as read:
        (membership,) = await of(read, ada)
        assert len(membership.roles) == 1


@pytest.mark.promise("identity, administration: what is checked of a user is still so when it is changed")
async def test_a_role_cannot_be_removed_while_it_is_granted_concurrently(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    given = role(tenants[0].id, name="Given")

    async def remove() -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.roles.remove(given.id)

    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.add(given)
    async with database.transaction(EveryTenant()) as tx:
        role_ids = [stored_role.id for stored_role in await tx.roles.by_names(tenants[0].id, ["Given"])]
        removing = asyncio.create_task(remove())
        await asyncio.wait([removing], timeout=0.1)
        await tx.memberships.save(ada.id, tenants[0].id, role_ids, None, NOW)
    with pytest.raises(Conflict):
        await removing


async def test_a_user_cannot_join_a_deleted_tenant(database: WholeDatabase, ada: User, tenants: list[Tenant]) -> None:
    here = tenants[0]
    async with database.transaction(EveryTenant()) as tx:
        await tx.memberships.save(ada.id, here.id, [], None, NOW)
        await tx.tenants.remove(here.id, NOW)
    for tenant_id in (here.id, new_id()):
        async with database.transaction(EveryTenant()) as tx:
            with pytest.raises(NotFound):
                await tx.memberships.save(ada.id, tenant_id, [], None, NOW)


async def test_a_tenant_stays_until_a_membership_is_stored(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    here = tenants[0]

    async def remove() -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.tenants.remove(here.id, NOW)

    async with database.transaction(EveryTenant()) as tx:
        await tx.memberships.save(ada.id, here.id, [], None, NOW)
        removing = asyncio.create_task(remove())
        await asyncio.wait([removing], timeout=0.1)
        assert [membership.tenant_id for membership in await of(tx, ada)] == [here.id]
    await removing
    async with database.read_only(EveryTenant()) as read:
        assert await of(read, ada) == ()


async def test_owners_are_members_with_an_active_account(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    here, there, _ = tenants
    bob = user(is_active=False)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(bob)
        assert not await tx.memberships.set_owner(ada.id, here.id, True)
        for member in (ada, bob):
            await tx.memberships.save(member.id, here.id, [], None, NOW)
            assert await tx.memberships.set_owner(member.id, here.id, True)
            assert not await tx.memberships.set_owner(member.id, here.id, True)
        await tx.memberships.save(ada.id, there.id, [], None, NOW + timedelta(1))
        assert [membership.is_owner for membership in await of(tx, ada)] == [True, False]
        assert await tx.memberships.lock_owners(here.id) == [ada.id]
        assert await tx.memberships.lock_owners(there.id) == []
        await tx.memberships.save(ada.id, here.id, [], True, NOW)
        listed, _ = await tx.users.page(Listing(tenant_id=here.id))
        assert {member.user.id: member.is_owner for member in listed} == {ada.id: True, bob.id: True}
        everybody, _ = await tx.users.page(Listing())
        assert not any(member.is_owner for member in everybody)
        assert await tx.memberships.set_owner(ada.id, here.id, False)
        assert await tx.memberships.lock_owners(here.id) == []


@pytest.mark.promise("tenants, owners: of two last owners who leave at once, one stays")
async def test_one_owner_remains_when_all_owners_leave_concurrently(
    database: WholeDatabase, ada: User, tenants: list[Tenant]
) -> None:
    here = tenants[0]
    owners = [ada, *(user() for _ in range(5))]
    async with database.transaction(EveryTenant()) as tx:
        for owner in owners:
            if owner is not ada:
                await tx.users.add(owner)
            await tx.memberships.save(owner.id, here.id, [], None, NOW)
            await tx.memberships.set_owner(owner.id, here.id, True)

    async def leave(owner: User) -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.memberships.lock(owner.id)
            ensure_owner_stays(await tx.memberships.lock_owners(here.id), owner.id)
            await tx.memberships.remove(owner.id, here.id)

    left = await asyncio.gather(*(leave(owner) for owner in owners), return_exceptions=True)
    assert [type(error) for error in left if error is not None] == [Conflict]
    async with database.transaction(EveryTenant()) as tx:
        assert len(await tx.memberships.lock_owners(here.id)) == 1
