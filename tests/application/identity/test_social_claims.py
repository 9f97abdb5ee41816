"""A claim of an unproved account by the owner of its address, and what happens to the account at the same moment."""

import asyncio

import asyncpg
from msgspec.structs import replace

from adapters.postgres.database import PostgresDatabase
from domain.entities.declaration import Registry
from domain.scope import EveryTenant
from tests.application.identity.test_social_sign_in import account, complete_login, open_service
from tests.waiting import HUNG_AFTER

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def test_a_claim_waits_for_a_proof_that_is_being_stored_and_then_takes_nothing_away(
    registry: Registry, postgres: PostgresDatabase, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    service = await open_service(registry, postgres, CONFIRM_EMAIL="false")
    made = await service.register()
    user = await account(service)
    assert user is not None
    async with postgres.transaction(EveryTenant()) as tx:
        await tx.memberships.lock(made.id)
        await tx.users.save(replace(user, email_confirmed=True, email_proved=True), user)
        claim = asyncio.create_task(complete_login(service, "ada"))
        async with asyncio.timeout(HUNG_AFTER):
            # Asked again and again: a server tells nobody that a statement has begun to wait.
            while not await owner.fetchval(WAITING):
                assert not claim.done()
                await asyncio.sleep(0)
    assert service.caller(await claim).user_id == made.id
    # The account was proved before the claim: its owner keeps the password.
    assert service.caller(await service.login()).user_id == made.id
