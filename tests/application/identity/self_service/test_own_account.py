"""Use cases of account holders who are logged in: their password, their sessions, a stolen token."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.identity.account.registration import RegisterForm
from application.identity.login.forms import RefreshForm
from domain.entities.declaration import Registry
from domain.errors import (
    AccountLocked,
    Error,
    InvalidCredentials,
    NotFound,
    TokenInvalid,
    ValidationError,
)
from tests.application.identity.account.test_accounts import made_by_admin
from tests.application.identity.passwords.test_passwords import sealed
from tests.application.in_memory_service import EMAIL, HERE, NEW, InMemoryService, open_service


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    return await open_service(registry)


def fields(error: pytest.ExceptionInfo[Error]) -> set[str]:
    return {detail.field for detail in error.value.fields}


@pytest.mark.promise("POST /api/auth/change-password")
@pytest.mark.promise("identity, accounts and mail: Changing the password, and the lock after wrong attempts")
async def test_a_changed_password_ends_every_session_and_open_link(service: InMemoryService) -> None:
    await service.holder()
    here, there = await service.login(), await service.login()
    await service.ask()
    link = await service.token()
    await service.change(service.caller(here))
    for result in (here, there):
        assert not await service.is_alive(service.caller(result))
        with pytest.raises(TokenInvalid):
            await service.services.renewal.refresh(RefreshForm(refresh_token=result.refresh_token), HERE)
    with pytest.raises(ValidationError):
        await service.reset(link)
    await service.login(NEW)
    assert (await service.mail()).subject == "Tenantry: Your password was changed"


@pytest.mark.promise("identity, accounts and mail: Changing the password, and the lock after wrong attempts")
async def test_wrong_current_passwords_lock_as_wrong_logins_do(service: InMemoryService) -> None:
    await service.holder()
    caller = service.caller(await service.login())
    for _ in range(5):
        with pytest.raises(ValidationError) as error:
            await service.change(caller, "a wrong password")
        assert fields(error) == {"currentPassword"}
    with pytest.raises(AccountLocked):
        await service.change(caller)
    with pytest.raises(AccountLocked):
        await service.login()
    assert await service.is_alive(caller)
    service.clock.move(timedelta(minutes=15))
    await service.change(caller)


async def test_a_weak_new_password_costs_no_guess(service: InMemoryService) -> None:
    await service.holder()
    caller = service.caller(await service.login())
    for _ in range(6):
        with pytest.raises(ValidationError) as error:
            await service.change(caller, "a wrong password", "short")
        assert fields(error) == {"newPassword"}
    await service.change(caller)


async def test_the_current_password_is_refused_as_the_new_one(service: InMemoryService) -> None:
    await service.holder()
    caller = service.caller(await service.login())
    await service.change(caller, new="Paßwort \ufb01rst 2026")
    caller = service.caller(await service.login("Paßwort \ufb01rst 2026"))
    # NFKC makes the ligature two letters: it is the same password, however it is typed.
    same = "Paßwort first 2026"
    for _ in range(6):
        with pytest.raises(ValidationError) as error:
            await service.change(caller, "Paßwort \ufb01rst 2026", same)
        assert fields(error) == {"newPassword"}
    # A wrong guess is told as such, whatever it is to be changed to.
    with pytest.raises(ValidationError) as error:
        await service.change(caller, "a wrong password", "a wrong password")
    assert fields(error) == {"currentPassword"}
    assert await service.is_alive(caller)
    await service.change(caller, same, "another password")


async def test_unlocking_ends_the_lock(service: InMemoryService) -> None:
    root, user_id = await made_by_admin(service)
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await service.login("a wrong password")
    assert (await service.services.users.get(root, user_id)).is_locked
    assert not (await service.services.users.unlock(root, user_id, HERE)).is_locked
    await service.login()


@pytest.mark.promise("DELETE /api/auth/sessions/{session_id}")
async def test_a_user_can_end_only_their_sessions(service: InMemoryService) -> None:
    await service.holder()
    here, there = service.caller(await service.login()), service.caller(await service.login())
    listed = (await service.services.my_sessions.all(here)).items
    assert {item.id: item.is_current for item in listed} == {here.session_id: True, there.session_id: False}
    assert {(item.address, item.device) for item in listed} == {("192.0.2.1", "a browser")}
    with pytest.raises(NotFound):
        await service.services.my_sessions.end(await service.admin(), there.session_id, HERE)
    await service.services.my_sessions.end(here, there.session_id, HERE)
    assert (await service.is_alive(here), await service.is_alive(there)) == (True, False)
    for gone in (there.session_id, UUID(int=0)):
        with pytest.raises(NotFound):
            await service.services.my_sessions.end(here, gone, HERE)
    assert [session.id for session in (await service.services.my_sessions.all(here)).items] == [here.session_id]


@pytest.mark.promise("identity, refresh tokens and sessions: Sessions are listed and ended")
async def test_a_session_that_ended_by_time_is_not_listed(service: InMemoryService) -> None:
    await service.holder()
    service.caller(await service.login())
    service.clock.move(timedelta(minutes=10))
    caller = service.caller(await service.login())
    assert [session.id for session in (await service.services.my_sessions.all(caller)).items] == [caller.session_id]


@pytest.mark.promise("identity, refresh tokens and sessions: the owner is told of a theft, once")
async def test_a_stolen_refresh_token_is_notified_once(service: InMemoryService) -> None:
    await service.holder()
    first = await service.login()
    await service.services.renewal.refresh(RefreshForm(refresh_token=first.refresh_token), HERE)
    service.clock.move(timedelta(seconds=31))
    for _ in range(2):
        with pytest.raises(TokenInvalid):
            await service.services.renewal.refresh(RefreshForm(refresh_token=first.refresh_token), HERE)
    mail = await service.mail()
    assert (mail.to, mail.subject) == (EMAIL, "Tenantry: A session of yours was ended")


@pytest.mark.promise("identity, encrypted passwords: Register, reset and change accept encrypted passwords too")
async def test_passwords_may_come_encrypted_wherever_one_is_taken(service: InMemoryService) -> None:
    form = RegisterForm(
        email=EMAIL, password=sealed(service, jti="1"), full_name="Ada Byron", is_password_encrypted=True
    )
    await service.services.registration.register(form, HERE)
    await service.confirm(await service.token())
    caller = service.caller(await service.login())
    await service.change(caller, sealed(service, jti="2"), sealed(service, NEW, jti="3"))
    await service.login(NEW)
    await service.mails()
    await service.ask()
    token = await service.token()
    with pytest.raises(ValidationError) as error:
        await service.reset(token, sealed(service, "a third password", jti="3"))
    assert fields(error) == {"newPassword"}
    await service.reset(token, sealed(service, "a third password", jti="4"))
    await service.login("a third password")
