"""Refused logins: each has a line in the audit trail, and only wrong passwords count towards the lock.

Refreshes that others overtake between their read and their write: what is told of the session is true.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace as replace_of_overtaken_refreshes

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import UserForm
from application.identity.login.forms import LoginForm, RefreshForm, SwitchForm
from application.identity.social.social_sign_in import SocialForm
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import Path, Query, SortKey
from domain.errors import AccountDisabled, AccountLocked, EmailNotConfirmed, Forbidden, InvalidCredentials, TokenInvalid
from domain.identity.tokens import Session
from domain.scope import SYSTEM_TENANT_ID, EveryTenant, OneTenant, Scope
from tests.application.identity.social.test_social_sign_in import TOKENS
from tests.application.identity.social.test_social_sign_in import open_service as open_service_of_overtaken_refreshes
from tests.application.in_memory_service import EMAIL, HERE, PASSWORD, InMemoryService, open_service
from tests.builders import NOW
from tests.http.app import ADMIN
from tests.http.app import PASSWORD as ADMIN_PASSWORD
from tests.http.app import PASSWORD as PASSWORD_OF_OVERTAKEN_REFRESHES

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


async def test_a_refused_login_with_the_right_password_is_not_counted_as_a_guess(
    service: InMemoryService, registry: Registry
) -> None:
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


async def test_concurrent_logins_with_the_right_password_lock_no_account(service: InMemoryService) -> None:
    """More than the attempts that lock, as the workers of a test suite log in with one account."""
    made = await service.register()
    await service.confirm(await service.token())
    answers = await asyncio.gather(*(service.login() for _ in range(20)))
    assert {service.caller(answer).user_id for answer in answers} == {made.id}
    assert len({service.caller(answer).session_id for answer in answers}) == 20


async def test_concurrent_guesses_lock_the_account_after_the_limit(service: InMemoryService) -> None:
    await service.register()
    await service.confirm(await service.token())
    guesses = (service.login("a wrong password") for _ in range(20))
    answers = await asyncio.gather(*guesses, return_exceptions=True)
    assert [type(answer) for answer in answers] == [InvalidCredentials] * 5 + [AccountLocked] * 15


@dataclass
class OvertakenSessions:
    sessions: Any
    database: "OvertakenDatabase"

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sessions, name)

    async def rotate(self, session: Session, seen: int) -> bool:
        for _ in range(self.database.refreshes):
            current = await self.sessions.by_id(session.id)
            await self.sessions.rotate(
                replace_of_overtaken_refreshes(current, counter=current.counter + 1), seen=current.counter
            )
        if self.database.ends:
            await self.sessions.end(session.id, NOW)
        rotated: bool = await self.sessions.rotate(session, seen=seen)
        return rotated


@dataclass
class OvertakenTransaction:
    tx: Any
    database: "OvertakenDatabase"

    def __getattr__(self, name: str) -> Any:
        return OvertakenSessions(self.tx.sessions, self.database) if name == "sessions" else getattr(self.tx, name)


@dataclass
class OvertakenDatabase:
    """The database, in which a session is refreshed so often, or ended, in the moment before its refresh is written."""

    database: WholeDatabase
    refreshes: int = 0
    ends: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def autocommit(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._wrapped(self.database.autocommit(scope))

    @asynccontextmanager
    async def _wrapped(self, opened: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
        async with opened as tx:
            yield OvertakenTransaction(tx, self)


@dataclass
class Refreshing:
    service: InMemoryService
    database: OvertakenDatabase
    token: str
    session_id: UUID
    other: UUID

    async def refresh(self, tenant_id: UUID | None = None) -> None:
        form = RefreshForm(refresh_token=self.token, tenant_id=tenant_id)
        await self.service.services.renewal.refresh(form, HERE)

    async def is_living(self) -> bool:
        async with self.database.database.read_only(EveryTenant()) as read:
            session = await read.sessions.by_id(self.session_id)
        return session is not None and session.ended_at is None


@pytest.fixture
async def refreshing(registry: Registry, database: WholeDatabase) -> Refreshing:
    overtaken: Any = OvertakenDatabase(database)
    service = await open_service_of_overtaken_refreshes(registry, overtaken)
    result = await service.login(PASSWORD_OF_OVERTAKEN_REFRESHES, ADMIN)
    root = service.caller(result)
    other = await service.services.tenants.create(root, NewTenantForm(name="Other", identifier="other"), HERE)
    return Refreshing(service, overtaken, result.refresh_token, root.session_id, other.id)


async def fresh(refreshing: Refreshing) -> None:
    refreshing.database.refreshes = 2
    await refreshing.refresh()


async def spent(refreshing: Refreshing) -> None:
    await refreshing.refresh()
    refreshing.database.refreshes = 1
    await refreshing.refresh(refreshing.other)


@pytest.mark.parametrize("act", [fresh, spent])
async def test_a_session_that_was_refreshed_once_more_meanwhile_lives(
    refreshing: Refreshing, act: Callable[[Refreshing], Awaitable[None]]
) -> None:
    with pytest.raises(TokenInvalid, match="refreshed once more meanwhile"):
        await act(refreshing)
    assert await refreshing.is_living()


async def test_refreshing_a_session_that_ended_concurrently_reports_its_end(refreshing: Refreshing) -> None:
    await refreshing.refresh()
    refreshing.database.ends = True
    with pytest.raises(TokenInvalid, match="The session has ended"):
        await refreshing.refresh(refreshing.other)
    assert not await refreshing.is_living()


async def test_a_first_refresh_of_a_session_that_ends_concurrently_is_refused(refreshing: Refreshing) -> None:
    refreshing.database.ends = True
    with pytest.raises(TokenInvalid, match="The session has ended"):
        await refreshing.refresh()
    assert not await refreshing.is_living()
