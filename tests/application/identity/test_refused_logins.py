"""Refused logins: each has a line in the audit trail, and only wrong passwords count towards the lock."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import msgspec
import pytest

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import UserForm
from application.identity.login.forms import LoginForm, RefreshForm, SwitchForm
from application.identity.social.social_sign_in import SocialForm
from domain.entities.declaration import Registry
from domain.entities.query.query import Path, Query, SortKey
from domain.errors import AccountDisabled, AccountLocked, EmailNotConfirmed, Forbidden, InvalidCredentials
from domain.scope import SYSTEM_TENANT_ID, OneTenant
from tests.application.identity.test_social_sign_in import TOKENS
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService, open_service
from tests.http.app import ADMIN
from tests.http.app import PASSWORD as ADMIN_PASSWORD

NEWEST = Query(sort=(SortKey(Path((), "occurred_at"), True), SortKey(Path((), "id"), True)), page_size=100)
PAUSE = timedelta(seconds=11)
NOWHERE = UUID(int=7)


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    return await open_service(registry)


async def failures(service: InMemoryService, registry: Registry) -> list[str | None]:
    """The users of the failed logins in the audit trail."""
    async with service.adapters.database.read_only(OneTenant(SYSTEM_TENANT_ID)) as read:
        page = await read.records.page(registry["audit-events"], NEWEST)
    return [row["actorId"] for row in msgspec.json.decode(page.items) if row["action"] == "login.failed"]


async def into(service: InMemoryService, tenant_id: UUID) -> None:
    form = LoginForm(email=EMAIL, password=PASSWORD, is_password_encrypted=False, preferred_tenant_id=tenant_id)
    await service.services.sign_in.login(form, HERE)


async def test_a_right_password_that_is_refused_is_no_guess(service: InMemoryService, registry: Registry) -> None:
    made = await service.register()
    for _ in range(6):
        with pytest.raises(EmailNotConfirmed):
            await service.login()
    await service.confirm(await service.token())
    for _ in range(6):
        with pytest.raises(Forbidden):
            await into(service, NOWHERE)
    await service.login()
    root = await service.admin()
    await service.services.users.update(root, made.id, UserForm(is_active=False), HERE)
    for _ in range(6):
        with pytest.raises(AccountDisabled):
            await service.login()
    assert await failures(service, registry) == [str(made.id)] * 18


async def test_refused_logins_forgive_no_wrong_ones(service: InMemoryService, registry: Registry) -> None:
    await service.holder()
    for _ in range(4):
        with pytest.raises(InvalidCredentials):
            await service.login("a wrong password")
    with pytest.raises(Forbidden):
        await into(service, NOWHERE)
    with pytest.raises(InvalidCredentials):
        await service.login("a wrong password")
    with pytest.raises(AccountLocked):
        await service.login()
    assert len(await failures(service, registry)) == 7


async def test_a_refused_social_login_gives_no_guess_at_the_password_back(service: InMemoryService) -> None:
    await service.holder()
    for _ in range(4):
        with pytest.raises(InvalidCredentials):
            await service.login("a wrong password")
    sign_in = replace(service.services.social_sign_in, providers=MemorySocialProviders(["google"], TOKENS))
    form = SocialForm(provider="google", access_token="ada", preferred_tenant_id=NOWHERE)
    with pytest.raises(Forbidden):
        await sign_in.login(form, HERE)
    with pytest.raises(InvalidCredentials):
        await service.login("a wrong password")
    with pytest.raises(AccountLocked):
        await service.login()


@pytest.mark.parametrize("token", ["nameless", "unknown"])
async def test_a_refused_social_login_is_in_the_trail(service: InMemoryService, registry: Registry, token: str) -> None:
    social = MemorySocialProviders(["google", "github"], TOKENS)
    sign_in = replace(service.services.social_sign_in, providers=social)
    with pytest.raises(InvalidCredentials):
        await sign_in.login(SocialForm(provider="github", access_token=token), HERE)
    assert await failures(service, registry) == [None]


async def tenants(service: InMemoryService) -> tuple[UUID, UUID]:
    root = await service.admin()
    made = [
        await service.services.tenants.create(root, NewTenantForm(name=name, identifier=name), HERE)
        for name in ("one", "two")
    ]
    return made[0].id, made[1].id


async def test_a_replayed_refresh_gets_its_successor_in_the_tenant_it_asks_for(service: InMemoryService) -> None:
    first, second = await tenants(service)
    result = await service.login(ADMIN_PASSWORD, ADMIN)
    forms = [RefreshForm(refresh_token=result.refresh_token, tenant_id=wanted) for wanted in (first, second)]
    answers = [await service.services.renewal.refresh(form, HERE) for form in forms]
    assert answers[0].refresh_token == answers[1].refresh_token
    said = [service.services.tokens.read(answer.token, service.clock.now()).tenant_id for answer in answers]
    assert said == [first, second]


async def test_of_two_refreshes_at_once_each_gets_the_tenant_it_asked_for(service: InMemoryService) -> None:
    wanted = await tenants(service)
    result = await service.login(ADMIN_PASSWORD, ADMIN)
    forms = [RefreshForm(refresh_token=result.refresh_token, tenant_id=tenant_id) for tenant_id in wanted]
    answers = await asyncio.gather(*(service.services.renewal.refresh(form, HERE) for form in forms))
    assert answers[0].refresh_token == answers[1].refresh_token
    said = [service.services.tokens.read(answer.token, service.clock.now()).tenant_id for answer in answers]
    assert said == list(wanted)


async def test_of_two_switches_at_once_each_gets_the_tenant_it_asked_for(service: InMemoryService) -> None:
    wanted = await tenants(service)
    caller = await service.admin()
    forms = [SwitchForm(tenant_id=tenant_id) for tenant_id in wanted]
    answers = await asyncio.gather(*(service.services.renewal.switch_tenant(caller, form, HERE) for form in forms))
    assert [answer.current_tenant.id for answer in answers] == list(wanted)
    said = [service.services.tokens.read(answer.token, service.clock.now()).tenant_id for answer in answers]
    assert said == list(wanted)


async def test_a_login_shows_in_the_profile_at_once(service: InMemoryService) -> None:
    caller = await service.admin()
    service.clock.move(PAUSE)
    before = await service.services.profiles.complete(caller)
    service.clock.move(PAUSE)
    after = await service.services.profiles.complete(await service.admin())
    assert after.last_login_at != before.last_login_at


async def test_right_logins_at_the_same_moment_lock_nobody_out(service: InMemoryService) -> None:
    """More than the attempts that lock, as the workers of a test suite log in with one account."""
    made = await service.register()
    await service.confirm(await service.token())
    answers = await asyncio.gather(*(service.login() for _ in range(20)))
    assert {service.caller(answer).user_id for answer in answers} == {made.id}
    assert len({service.caller(answer).session_id for answer in answers}) == 20


async def test_guesses_at_the_same_moment_lock_as_ever(service: InMemoryService) -> None:
    await service.register()
    await service.confirm(await service.token())
    guesses = (service.login("a wrong password") for _ in range(20))
    answers = await asyncio.gather(*guesses, return_exceptions=True)
    assert [type(answer) for answer in answers] == [InvalidCredentials] * 5 + [AccountLocked] * 15
