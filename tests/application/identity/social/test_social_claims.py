"""A claim of an unproved account by the owner of its address, and what happens to the account at the same moment.

Sessions after a social login: what the provider does later changes nothing, and their ends are the service's own.

What unlinking an identity does not do: keep out an account whose provider vouches for the same address.
"""

import asyncio
from dataclasses import replace as replace_of_social_sessions
from datetime import timedelta
from typing import cast

import asyncpg
import pytest
from msgspec.structs import replace

from adapters.memory.identity.social import MemorySocialProviders
from adapters.postgres.database import PostgresDatabase
from application.identity.administration.user_forms import UserForm
from application.identity.login.forms import LoginResult, RefreshForm
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import ServiceUnavailable, TokenExpired
from domain.scope import EveryTenant
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.application.identity.social.test_social_sign_in import account, complete_login, open_service, service
from tests.application.in_memory_service import HERE, InMemoryService
from tests.builders import ensure_keys
from tests.http.app import SETTINGS
from tests.waiting import HUNG_AFTER

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


async def test_a_claim_waits_for_a_concurrent_proof_and_then_removes_nothing(
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


async def refreshed(service: InMemoryService, result: LoginResult) -> LoginResult:
    form = RefreshForm(refresh_token=result.refresh_token)
    return cast(LoginResult, await service.services.renewal.refresh(form, HERE))


async def without_providers(service: InMemoryService) -> InMemoryService:
    """The same service from now on, while no provider answers."""
    providers = cast(MemorySocialProviders, service.adapters.social)
    adapters = replace_of_social_sessions(
        service.adapters, social=replace_of_social_sessions(providers, away=providers.names)
    )
    services = assemble(adapters, read_settings({**SETTINGS, "TENANTRY_DEFAULT_TENANT": "system"}))
    await ensure_keys(services)
    return InMemoryService(services, adapters)


async def test_a_session_does_not_depend_on_the_provider_s(registry: Registry, database: WholeDatabase) -> None:
    service = await open_service(registry, database, DEFAULT_TENANT="system")
    first = await complete_login(service, "ada")
    service = await without_providers(service)
    with pytest.raises(ServiceUnavailable):
        await complete_login(service, "ada")
    second = await refreshed(service, first)
    service.clock.move(timedelta(days=6))
    third = await refreshed(service, second)
    service.clock.move(timedelta(days=8))
    with pytest.raises(TokenExpired):
        await refreshed(service, third)


__all__ = ["service"]


async def test_the_next_login_links_it_again_until_the_address_is_another(
    service: InMemoryService,
) -> None:  # the fixture
    first = service.caller(await complete_login(service, "ada"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(first.user_id, "hash", service.clock.now())
    await service.services.identities.unlink(first, "google", HERE)
    assert service.caller(await complete_login(service, "ada")).user_id == first.user_id
    await service.services.identities.unlink(first, "google", HERE)
    root = await service.admin()
    await service.services.users.update(root, first.user_id, UserForm(email="ada@elsewhere.example"), HERE)
    assert service.caller(await complete_login(service, "ada")).user_id != first.user_id


async def test_the_notice_of_an_unlinked_identity_is_in_the_language_of_the_browser(service: InMemoryService) -> None:
    caller = service.caller(await complete_login(service, "ada"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(caller.user_id, "hash", service.clock.now())
    await service.services.identities.unlink(caller, "google", replace(HERE, language="de"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        due = await tx.outbox.take(10, service.clock.now(), timedelta())
    assert ("identity-removed", "de") in [(taken.mail.kind, taken.mail.language) for taken in due]


async def test_the_profile_shows_it_no_more(service: InMemoryService) -> None:
    caller = service.caller(await complete_login(service, "ada"))
    async with service.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.set_password(caller.user_id, "hash", service.clock.now())
    assert [linked.provider for linked in (await service.services.profiles.complete(caller)).identities] == ["google"]
    await service.services.identities.unlink(caller, "google", HERE)
    assert (await service.services.profiles.complete(caller)).identities == []
