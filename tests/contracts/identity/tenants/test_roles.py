"""Roles of tenants and of the system; a name means one role.

Permissions added by super-admins: listed by name, each once.
"""

import asyncio

import pytest
from msgspec.structs import replace

from adapters.postgres.database import PostgresDatabase
from application.ports.identity.users import PERMISSION_TAKEN, ROLE_HELD
from application.ports.whole_database import WholeDatabase
from domain.errors import Conflict, FieldError
from domain.identity.users import ADMIN, SUPER_ADMIN, Role, Tenant
from domain.scope import SYSTEM_TENANT_ID, EveryTenant, Permission
from tests.builders import NOW, new_id, role, tenant, user


@pytest.fixture
async def tenants(database: WholeDatabase) -> list[Tenant]:
    made = [tenant(), tenant()]
    async with database.transaction(EveryTenant()) as tx:
        for new_tenant in made:
            await tx.tenants.add(new_tenant)
    return made


async def add(database: WholeDatabase, *roles: Role) -> None:
    async with database.transaction(EveryTenant()) as tx:
        for new_role in roles:
            await tx.roles.add(new_role)


async def test_a_tenant_sees_its_own_roles_and_the_systems(database: WholeDatabase, tenants: list[Tenant]) -> None:
    here, there = tenants
    own, system = role(here.id, name="Editor", permissions=("read:products",)), role(None, name="Admin")
    await add(database, own, system, role(there.id, name="Other"))
    ada, bob = user(), user()
    async with database.transaction(EveryTenant()) as tx:
        for person in (ada, bob):
            await tx.users.add(person)
            await tx.memberships.save(person.id, here.id, [system.id], None, NOW)
        await tx.memberships.save(ada.id, there.id, [system.id], None, NOW)
        seen = await tx.roles.visible(here.id)
    assert [(item.role, item.user_count) for item in seen] == [(system, 2), (own, 0)]


async def test_names_find_the_tenants_own_first(database: WholeDatabase, tenants: list[Tenant]) -> None:
    here, there = tenants
    own, system, foreign = role(here.id, name="Z"), role(None, name="A"), role(there.id, name="Z")
    await add(database, own, system, foreign)
    async with database.autocommit(EveryTenant()) as read:
        assert await read.roles.by_names(here.id, ["A", "Z", "none"]) == [own, system]
        assert await read.roles.by_names(None, ["A", "Z"]) == [system]
        assert await read.roles.lock(foreign.id) == foreign
        assert await read.roles.lock(new_id()) is None


async def test_a_role_name_is_unique_in_its_tenant_and_among_system_roles(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here, there = tenants
    await add(database, role(here.id, name="Editor"), role(there.id, name="editor"), role(None, name="Admin"))
    for taken in (role(here.id, name="EDITOR"), role(here.id, name="admin"), role(None, name="ADMIN")):
        with pytest.raises(Conflict) as error:
            await add(database, taken)
        assert [detail.field for detail in error.value.fields] == ["name"]


async def test_a_role_cannot_be_renamed_to_the_name_of_another(database: WholeDatabase, tenants: list[Tenant]) -> None:
    stored, other = role(tenants[0].id, name="One"), role(tenants[0].id, name="Other")
    await add(database, stored, other)
    changed = Role(id=stored.id, tenant_id=stored.tenant_id, name="ONE", description="new", permissions=("*",))
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.save(changed)
        assert await tx.roles.lock(stored.id) == changed
    with pytest.raises(Conflict):
        async with database.transaction(EveryTenant()) as tx:
            await tx.roles.save(Role(id=stored.id, tenant_id=stored.tenant_id, name="other"))


async def test_a_role_is_changed_under_its_name_though_the_system_has_it_too(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    own, other, system = role(tenants[0].id, name="Support"), role(tenants[0].id, name="Other"), role(None, name="Cash")
    await add(database, own, other, system)
    async with database.transaction(EveryTenant()) as tx:
        await tx.roles.save(replace(system, name="SUPPORT"))
    for name in ("Support", "support"):
        changed = replace(own, name=name, description="new", permissions=("read:products",))
        async with database.transaction(EveryTenant()) as tx:
            await tx.roles.save(changed)
            assert await tx.roles.lock(own.id) == changed
    with pytest.raises(Conflict):
        async with database.transaction(EveryTenant()) as tx:
            await tx.roles.save(replace(other, name="support"))


async def test_a_role_that_is_held_stays(database: WholeDatabase, tenants: list[Tenant]) -> None:
    in_tenant, as_such, free = role(tenants[0].id), role(None), role(tenants[0].id)
    ada = user()
    await add(database, in_tenant, as_such, free)
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.memberships.save(ada.id, tenants[0].id, [in_tenant.id], None, NOW)
        await tx.memberships.set_system_roles(ada.id, [as_such.id])
        await tx.roles.remove(free.id)
        assert await tx.roles.lock(free.id) is None
    for held in (in_tenant, as_such):
        with pytest.raises(Conflict, match=ROLE_HELD):
            async with database.transaction(EveryTenant()) as tx:
                await tx.roles.remove(held.id)


async def test_super_admins_are_the_active_ones(database: WholeDatabase) -> None:
    shipped = role(None, name=SUPER_ADMIN)
    ada, bob, gone = user(), user(), user(is_active=False)
    await add(database, shipped)
    async with database.transaction(EveryTenant()) as tx:
        for person in (ada, bob, gone):
            await tx.users.add(person)
        for holder in (ada, gone):
            await tx.memberships.set_system_roles(holder.id, [shipped.id])
        assert await tx.roles.lock_super_admins() == [ada.id]


async def test_one_super_admin_remains_when_two_demote_each_other(postgres: PostgresDatabase) -> None:
    shipped, ada, bob = role(None, name=SUPER_ADMIN), user(), user()
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.roles.add(shipped)
        for person in (ada, bob):
            await tx.users.add(person)
            await tx.memberships.set_system_roles(person.id, [shipped.id])

    async def demote(index: int) -> None:
        async with postgres.transaction(EveryTenant()) as tx:
            held = await tx.roles.lock_super_admins()
            if len(held) > 1:
                await tx.memberships.set_system_roles(held[index], [])

    await asyncio.gather(demote(0), demote(1), demote(0), demote(1))
    async with postgres.transaction(EveryTenant()) as tx:
        assert len(await tx.roles.lock_super_admins()) == 1


async def test_admins_of_a_tenant_are_its_active_members_who_hold_admin(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here, there = tenants
    admin, namesake = role(None, name=ADMIN), role(None, name="Other")
    await add(database, admin, namesake)
    ada, bob, cleo, gone, away, outside = user(), user(), user(), user(is_active=False), user(), user()
    async with database.transaction(EveryTenant()) as tx:
        for person in (ada, bob, cleo, gone, away, outside):
            await tx.users.add(person)
        for holder in (ada, gone):
            await tx.memberships.save(holder.id, here.id, [admin.id], None, NOW)
        await tx.memberships.save(bob.id, here.id, [namesake.id], None, NOW)
        await tx.memberships.save(cleo.id, here.id, [], None, NOW)
        await tx.memberships.save(away.id, there.id, [admin.id], None, NOW)
        for holder in (cleo, outside):
            await tx.memberships.set_system_roles(holder.id, [admin.id])
        assert await tx.memberships.lock_admins(here.id) == sorted([ada.id, cleo.id])
        assert await tx.memberships.lock_admins(there.id) == [away.id]


@pytest.mark.promise(
    "security, rights: a tenant's last active Admin cannot be removed, deleted, disabled or lose that role, also when "
    "two of them leave at once; super-admins may"
)
async def test_one_admin_remains_when_two_remove_each_other(postgres: PostgresDatabase) -> None:
    admin, home, ada, bob = role(None, name=ADMIN), tenant(), user(), user()
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.tenants.add(home)
        await tx.roles.add(admin)
        for person in (ada, bob):
            await tx.users.add(person)
            await tx.memberships.save(person.id, home.id, [admin.id], None, NOW)

    async def remove(index: int) -> None:
        async with postgres.transaction(EveryTenant()) as tx:
            held = await tx.memberships.lock_admins(home.id)
            if len(held) > 1:
                await tx.memberships.remove(held[index], home.id)

    await asyncio.gather(remove(0), remove(1), remove(0), remove(1))
    async with postgres.transaction(EveryTenant()) as tx:
        assert len(await tx.memberships.lock_admins(home.id)) == 1


async def test_each_set_of_roles_held_together_with_a_role_is_returned_once(
    database: WholeDatabase, tenants: list[Tenant]
) -> None:
    here, there = tenants
    own, more, system = role(here.id), role(here.id), role(None)
    foreign = role(there.id)
    await add(database, own, more, system, foreign)
    ada, bob, cleo, dora = user(), user(), user(), user()
    async with database.transaction(EveryTenant()) as tx:
        for person in (ada, bob, cleo, dora):
            await tx.users.add(person)
        await tx.memberships.set_system_roles(ada.id, [system.id])
        await tx.memberships.save(ada.id, here.id, [own.id, more.id], None, NOW)
        await tx.memberships.save(ada.id, there.id, [foreign.id], None, NOW)
        for member in (bob, cleo):
            await tx.memberships.save(member.id, here.id, [own.id, more.id], None, NOW)
        await tx.memberships.save(dora.id, here.id, [more.id], None, NOW)
        beside = {held.id: {frozenset(each) for each in await tx.roles.held_beside(held.id)} for held in (own, system)}
        assert await tx.roles.held_beside(foreign.id) == [(), (system,)]
        assert await tx.roles.held_beside(new_id()) == [()]
    assert beside[own.id] == {frozenset(), frozenset([more]), frozenset([more, system])}
    assert beside[system.id] == {frozenset(), frozenset([own, more]), frozenset([foreign])}


async def test_a_system_role_held_twice_in_the_system_tenant_is_counted_once(database: WholeDatabase) -> None:
    system, ada = role(None, name="Auditor"), user()
    await add(database, system)
    async with database.transaction(EveryTenant()) as tx:
        service = await tx.tenants.by_id(SYSTEM_TENANT_ID)
        if service is None:
            await tx.tenants.add(tenant(id=SYSTEM_TENANT_ID))
        await tx.users.add(ada)
        await tx.memberships.set_system_roles(ada.id, [system.id])
        await tx.memberships.save(ada.id, SYSTEM_TENANT_ID, [system.id], None, NOW)
        seen = {stored_role.role.id: stored_role.user_count for stored_role in await tx.roles.visible(SYSTEM_TENANT_ID)}
    assert seen[system.id] == 1


async def test_concurrent_changes_of_a_role_are_serialized(postgres: PostgresDatabase) -> None:
    shared = role(None, permissions=())
    await add(postgres, shared)
    names = [f"read:kind{number}" for number in range(6)]

    async def add_permission(name: str) -> None:
        async with postgres.transaction(EveryTenant()) as tx:
            stored = await tx.roles.lock(shared.id)
            assert stored is not None
            await tx.roles.save(replace(stored, permissions=(*stored.permissions, name)))

    await asyncio.gather(*map(add_permission, names))
    async with postgres.transaction(EveryTenant()) as tx:
        stored = await tx.roles.lock(shared.id)
    assert stored is not None
    assert sorted(stored.permissions) == names


async def test_permissions_are_listed_by_name_and_each_once(database: WholeDatabase) -> None:
    permission = Permission(id=new_id(), name="read:b", description="reads", category="shop")
    other = Permission(id=new_id(), name="read:a")
    async with database.transaction(EveryTenant()) as tx:
        for listed in (permission, other):
            await tx.permissions.add(listed)
        assert await tx.permissions.all() == [other, permission]
    with pytest.raises(Conflict) as error:
        async with database.transaction(EveryTenant()) as tx:
            await tx.permissions.add(Permission(id=new_id(), name="read:a"))
    assert error.value.fields == (FieldError("name", PERMISSION_TAKEN),)
