"""Tenants that people make for themselves: their number holds for requests at the same time."""

import asyncio

from adapters.memory.cache import MemoryCache
from adapters.memory.clock import CountingIds, MovableClock
from application.identity.joining.own_tenants import OwnTenantForm, OwnTenants
from application.ports.whole_database import WholeDatabase
from domain.errors import RateLimited
from domain.identity.users import ADMIN
from domain.scope import Caller, EveryTenant
from tests.application.in_memory_service import HERE
from tests.builders import new_id, role, user


async def test_of_tenants_made_at_the_same_time_so_many_are_made_and_no_more(
    database: WholeDatabase, clock: MovableClock, ids: CountingIds
) -> None:
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.roles.add(role(None, name=ADMIN))
    own = OwnTenants(database, MemoryCache(clock), clock, ids, is_open=True)
    asking = Caller(
        user_id=ada.id,
        session_id=new_id(),
        tenant_id=None,
        name="Ada",
        email="ada@example.com",
        roles=(),
        permissions=(),
        is_super_admin=False,
        app_id=None,
        issued={},
        expires_at=0,
    )
    made = [own.create(asking, OwnTenantForm(name=f"Mine {number}"), HERE) for number in range(12)]
    answers = await asyncio.gather(*made, return_exceptions=True)
    assert [type(answer) for answer in answers if isinstance(answer, BaseException)] == [RateLimited] * 9
    async with database.read_only(EveryTenant()) as read:
        state = await read.users.state(ada.id)
    assert state is not None
    assert len(state.memberships) == 3
