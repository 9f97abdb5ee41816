"""Shares of rows: one of each member, of one tenant."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.ports.entities.records import Act
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import BadRequest
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id, tenant, user

ACT = Act(by=new_id(), at=NOW)
LATER = Act(by=new_id(), at=NOW + timedelta(hours=1))


async def join(library: WholeDatabase, *tenants: OneTenant) -> UUID:
    """A new user who is a member of the tenants."""
    member = user()
    async with library.transaction(EveryTenant()) as tx:
        await tx.users.add(member)
        for scope in tenants:
            await tx.memberships.save(member.id, scope.id, [], None, NOW)
    return member.id


async def new_tenant(library: WholeDatabase) -> OneTenant:
    made = tenant()
    async with library.transaction(EveryTenant()) as tx:
        await tx.tenants.add(made)
    return OneTenant(made.id)


async def test_shares_are_listed_from_the_oldest_and_keep_their_creation(
    library: WholeDatabase, library_registry: Registry
) -> None:
    here, volumes, row_id = await new_tenant(library), library_registry["volumes"], new_id()
    ann, bob = await join(library, here), await join(library, here)
    async with library.transaction(here) as tx:
        assert await tx.shares.of(volumes, row_id) == []
        second = await tx.shares.put(volumes, row_id, bob, "update", LATER)
        first = await tx.shares.put(volumes, row_id, ann, "read", ACT)
        assert await tx.shares.of(volumes, row_id) == [first, second]
        assert first is not None
        assert (first.user_id, first.level, first.created_at, first.created_by) == (ann, "read", NOW, ACT.by)
        assert first.full_name
        again = await tx.shares.put(volumes, row_id, ann, "update", LATER)
        assert again is not None
        assert (again.level, again.created_at, again.created_by) == ("update", NOW, ACT.by)
        # of other rows, and of rows of other entities, nothing is shared
        assert await tx.shares.of(volumes, new_id()) == []
        assert await tx.shares.of(library_registry["genres"], row_id) == []
        assert await tx.shares.remove(volumes, row_id, ann, ACT)
        assert not await tx.shares.remove(volumes, row_id, ann, ACT)
        assert await tx.shares.of(volumes, row_id) == [second]


async def test_a_share_stays_within_its_tenant(library: WholeDatabase, library_registry: Registry) -> None:
    here, there = await new_tenant(library), await new_tenant(library)
    volumes, row_id = library_registry["volumes"], new_id()
    ann, stranger = await join(library, here, there), await join(library, there)
    async with library.transaction(here) as tx:
        assert await tx.shares.put(volumes, row_id, stranger, "read", ACT) is None
        assert await tx.shares.put(volumes, row_id, new_id(), "read", ACT) is None
        share = await tx.shares.put(volumes, row_id, ann, "read", ACT)
    async with library.transaction(there) as tx:
        assert await tx.shares.of(volumes, row_id) == []
        assert not await tx.shares.remove(volumes, row_id, ann, ACT)
    async with library.transaction(here) as tx:
        assert await tx.shares.of(volumes, row_id) == [share]
    with pytest.raises(BadRequest):
        async with library.transaction(EveryTenant()) as tx:
            await tx.shares.of(volumes, row_id)


@pytest.mark.parametrize("is_whole", [True, False], ids=["user removed", "membership ended"])
async def test_a_share_ends_with_the_membership(
    library: WholeDatabase, library_registry: Registry, is_whole: bool
) -> None:
    here, there = await new_tenant(library), await new_tenant(library)
    volumes, row_id = library_registry["volumes"], new_id()
    ann, bob = await join(library, here, there), await join(library, here)
    for scope in (here, there):
        async with library.transaction(scope) as tx:
            await tx.shares.put(volumes, row_id, ann, "read", ACT)
    async with library.transaction(here) as tx:
        await tx.shares.put(volumes, row_id, bob, "read", ACT)
    async with library.transaction(EveryTenant()) as tx:
        if is_whole:
            await tx.users.remove(ann)
        else:
            assert await tx.memberships.remove(ann, here.id)
    async with library.transaction(here) as tx:
        assert [share.user_id for share in await tx.shares.of(volumes, row_id)] == [bob]
    if not is_whole:
        # a former member who joins again has no shares
        async with library.transaction(EveryTenant()) as tx:
            await tx.memberships.save(ann, here.id, [], None, NOW)
        async with library.transaction(here) as tx:
            assert [share.user_id for share in await tx.shares.of(volumes, row_id)] == [bob]
        async with library.transaction(there) as tx:
            assert [share.user_id for share in await tx.shares.of(volumes, row_id)] == [ann]
