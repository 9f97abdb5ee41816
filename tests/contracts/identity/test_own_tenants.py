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
from tests.builders import caller, role, user


async def opened(database: WholeDatabase, clock: MovableClock, ids: CountingIds) -> tuple[OwnTenants, Caller]:
    """The use case, and somebody without a tenant."""
    ada = user()
    async with database.transaction(EveryTenant()) as tx:
        await tx.users.add(ada)
        await tx.roles.add(role(None, name=ADMIN))
    return OwnTenants(database, MemoryCache(clock), clock, ids, is_open=True), caller(user_id=ada.id)


async def test_of_tenants_made_at_the_same_time_so_many_are_made_and_no_more(
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
    first, second = [await own.create(ada, OwnTenantForm(name="Mine"), HERE) for _ in range(2)]
    assert (first.identifier, second.identifier) == ("mine", f"mine-{second.id.hex[-8:]}")
