"""Accounts by those who hold them: what a link does, once and in time, and what a new password ends."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.identity.accounts import EmailForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm, UserForm
from application.identity.login.forms import RefreshForm
from application.identity.registration import RegisterForm
from domain.entities.declaration import Registry
from domain.errors import (
    AccountLocked,
    Conflict,
    EmailNotConfirmed,
    Error,
    InvalidCredentials,
    NotFound,
    TokenInvalid,
    ValidationError,
)
from domain.scope import Caller, EveryTenant
from tests.application.identity.test_encrypted_passwords import sealed
from tests.application.in_memory_service import EMAIL, HERE, NEW, PASSWORD, Home, open_home
from tests.http.app import ADMIN
from tests.mails import link_in, said_by


@pytest.fixture
async def home(registry: Registry) -> Home:
    return await open_home(registry)


def fields(error: pytest.ExceptionInfo[Error]) -> set[str]:
    return {one.field for one in error.value.fields}


async def test_who_registered_logs_in_once_the_address_is_confirmed(home: Home) -> None:
    made = await home.register(" Ada@Example.com ")
    with pytest.raises(EmailNotConfirmed):
        await home.login()
    mail = await home.mail()
    assert (mail.to, made.email) == ("Ada@Example.com", "Ada@Example.com")
    assert link_in(mail).startswith("http://127.0.0.1:8000/account/confirm#")
    assert link_in(mail).replace("&", "&amp;") in mail.html
    await home.confirm(said_by(link_in(mail))["token"], "ADA@example.com")
    result = await home.login()
    assert (result.is_global, result.must_change_password) == (True, False)


async def test_without_confirmation_one_logs_in_at_once_and_no_mail_goes_out(registry: Registry) -> None:
    home = await open_home(registry, {"TENANTRY_CONFIRM_EMAIL": "false"})
    await home.register()
    await home.login()
    assert await home.mails() == []
    await home.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    await home.confirm(await home.token())


async def test_a_taken_address_is_a_conflict(home: Home) -> None:
    await home.register()
    with pytest.raises(Conflict) as error:
        await home.register("ADA@example.com")
    assert fields(error) == {"email"}
    assert len(await home.mails()) == 1


@pytest.mark.parametrize("closed", [False, True])
async def test_who_registers_joins_the_default_tenant_while_it_is_open(registry: Registry, closed: bool) -> None:
    home = await open_home(registry, {"TENANTRY_DEFAULT_TENANT": "acme", "TENANTRY_CONFIRM_EMAIL": "false"})
    if not closed:
        root = await home.admin()
        await home.services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)
    await home.register()
    result = await home.login()
    assert result.is_global is closed
    if result.current_tenant is not None:
        assert home.caller(result).roles == ("Member",)


async def test_a_confirmation_works_once_for_a_day(home: Home) -> None:
    await home.register()
    token = await home.token()
    home.clock.move(timedelta(hours=24))
    with pytest.raises(ValidationError) as error:
        await home.confirm(token)
    assert fields(error) == {"token"}
    await home.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    again = await home.token()
    await home.confirm(again)
    for spent in (token, again):
        with pytest.raises(ValidationError):
            await home.confirm(spent)


async def test_resending_does_something_for_unconfirmed_addresses_alone(home: Home) -> None:
    await home.holder()
    for email in (EMAIL, "nobody@example.com", ADMIN):
        await home.services.accounts.request_link("confirmation", EmailForm(email=email))
    assert await home.mails() == []


async def test_a_reset_sets_the_password_and_ends_what_stood(home: Home) -> None:
    await home.holder()
    before = await home.login()
    caller = home.caller(before)
    await home.ask("ADA@example.com")
    mail = await home.mail()
    assert (mail.to, link_in(mail).partition("#")[0]) == (EMAIL, "http://127.0.0.1:8000/account/reset")
    await home.reset(said_by(link_in(mail))["token"])
    assert not await home.is_alive(caller)
    with pytest.raises(TokenInvalid):
        await home.services.sign_in.refresh(RefreshForm(refresh_token=before.refresh_token), HERE)
    with pytest.raises(InvalidCredentials):
        await home.login()
    await home.login(NEW)
    notice = await home.mail()
    assert (notice.to, "192.0.2.1" in notice.text, "#" in notice.text) == (EMAIL, True, False)


async def test_a_reset_confirms_the_address_and_lifts_the_lock(home: Home) -> None:
    await home.register()
    await home.mails()
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await home.login("a wrong password")
    with pytest.raises(AccountLocked):
        await home.login()
    await home.ask()
    await home.reset(await home.token())
    await home.login(NEW)


async def test_a_reset_token_works_once_for_an_hour(home: Home) -> None:
    await home.holder()
    await home.ask()
    token = await home.token()
    home.clock.move(timedelta(minutes=60) - timedelta(microseconds=1))
    await home.reset(token)
    with pytest.raises(ValidationError) as error:
        await home.reset(token, "a third password")
    assert fields(error) == {"token"}
    await home.mails()
    await home.ask()
    late = await home.token()
    home.clock.move(timedelta(minutes=60))
    with pytest.raises(ValidationError) as error:
        await home.reset(late)
    assert fields(error) == {"token"}
    await home.login(NEW)


async def test_a_newer_reset_token_ends_the_older(home: Home) -> None:
    await home.holder()
    await home.ask()
    old = await home.token()
    await home.ask()
    new = await home.token()
    with pytest.raises(ValidationError):
        await home.reset(old)
    await home.reset(new)


async def test_of_two_requests_that_wait_together_the_later_one_counts(home: Home) -> None:
    await home.holder()
    await home.ask()
    await home.ask()
    mails = await home.mails()
    tokens = [said_by(link_in(mail))["token"] for mail in mails]
    works = []
    for token in tokens:
        try:
            await home.reset(token)
        except ValidationError:
            continue
        works.append(token)
    assert len(works) == 1


@pytest.mark.parametrize("weak", ["short", "x" * 129, "password123", EMAIL, "Ada Byron"])
async def test_a_weak_password_does_not_spend_the_token(home: Home, weak: str) -> None:
    await home.holder()
    await home.ask()
    token = await home.token()
    with pytest.raises(ValidationError) as error:
        await home.reset(token, weak)
    assert fields(error) == {"newPassword"}
    await home.reset(token)


async def test_a_token_is_of_one_address_and_one_purpose(home: Home) -> None:
    await home.register()
    confirmation = await home.token()
    await home.ask()
    reset = await home.token()
    with pytest.raises(ValidationError):
        await home.reset(confirmation)
    with pytest.raises(ValidationError):
        await home.confirm(reset)
    for email in (ADMIN, "nobody@example.com", "no address"):
        with pytest.raises(ValidationError) as error:
            await home.reset(reset, email=email)
        assert fields(error) == {"token"}
    await home.reset(reset)


async def test_asking_leaves_the_same_behind_for_every_address(home: Home) -> None:
    """What tells a known address is done by the relay, when nobody waits for an answer."""
    await home.holder()
    outboxes = []
    for email in (EMAIL, "nobody@example.com"):
        await home.ask(email)
        async with home.world.database.reading(EveryTenant()) as read:
            (due,) = await read.post.take(10, home.clock.now(), timedelta())
            await read.post.done(due.mail.id)
        outboxes.append((due.mail.kind, due.mail.name, due.mail.address, due.mail.at))
    assert outboxes[0] == outboxes[1]


async def test_nobody_gets_a_mail_at_an_address_without_an_account(home: Home) -> None:
    await home.ask("nobody@example.com")
    assert await home.mails() == []
    async with home.world.database.reading(EveryTenant()) as read:
        assert await read.post.take(10, home.clock.now() + timedelta(days=9), timedelta()) == []


async def test_a_disabled_account_gets_no_link_and_its_links_end(home: Home) -> None:
    made = await home.holder()
    await home.ask()
    token = await home.token()
    await home.services.users.update(await home.admin(), made.id, UserForm(is_active=False), HERE)
    with pytest.raises(ValidationError):
        await home.reset(token)
    await home.ask()
    assert await home.mails() == []


async def made_by_admin(home: Home, *, welcome: bool = False) -> tuple[Caller, UUID]:
    """Who made the account, and its id."""
    root = await home.admin()
    form = NewUserForm(email=EMAIL, password=PASSWORD, full_name="Ada Byron", send_welcome_email=welcome)
    return root, (await home.services.users.create(root, form, HERE)).id


async def test_a_welcome_is_a_link_and_never_a_password(home: Home) -> None:
    await made_by_admin(home, welcome=True)
    mail = await home.mail()
    assert PASSWORD not in mail.text + mail.html
    home.clock.move(timedelta(days=7) - timedelta(seconds=1))
    await home.reset(said_by(link_in(mail))["token"])
    result = await home.login(NEW)
    assert result.must_change_password is False


async def test_no_welcome_unless_asked_for(home: Home) -> None:
    await made_by_admin(home)
    assert await home.mails() == []


async def test_a_new_address_is_confirmed_and_the_old_one_told(home: Home) -> None:
    root, user_id = await made_by_admin(home)
    await home.ask()
    old = await home.token()
    await home.services.users.update(root, user_id, UserForm(email="new@example.com"), HERE)
    with pytest.raises(EmailNotConfirmed):
        await home.login(email="new@example.com")
    for email in (EMAIL, "new@example.com"):
        with pytest.raises(ValidationError):
            await home.reset(old, email=email)
    to = {mail.to: mail for mail in await home.mails()}
    assert to.keys() == {EMAIL, "new@example.com"}
    assert "new@example.com" not in to[EMAIL].text
    await home.confirm(said_by(link_in(to["new@example.com"]))["token"], "new@example.com")
    await home.login(email="new@example.com")
    await home.services.users.update(root, user_id, UserForm(email=EMAIL), HERE)
    with pytest.raises(ValidationError):
        await home.reset(old)


async def test_a_changed_password_ends_every_session_and_open_link(home: Home) -> None:
    await home.holder()
    here, there = await home.login(), await home.login()
    await home.ask()
    link = await home.token()
    await home.change(home.caller(here))
    for result in (here, there):
        assert not await home.is_alive(home.caller(result))
        with pytest.raises(TokenInvalid):
            await home.services.sign_in.refresh(RefreshForm(refresh_token=result.refresh_token), HERE)
    with pytest.raises(ValidationError):
        await home.reset(link)
    await home.login(NEW)
    assert (await home.mail()).subject == "Tenantry: Your password was changed"


async def test_wrong_current_passwords_lock_as_wrong_logins_do(home: Home) -> None:
    await home.holder()
    caller = home.caller(await home.login())
    for _ in range(5):
        with pytest.raises(ValidationError) as error:
            await home.change(caller, "a wrong password")
        assert fields(error) == {"currentPassword"}
    with pytest.raises(AccountLocked):
        await home.change(caller)
    with pytest.raises(AccountLocked):
        await home.login()
    assert await home.is_alive(caller)
    home.clock.move(timedelta(minutes=15))
    await home.change(caller)


async def test_a_weak_new_password_costs_no_guess(home: Home) -> None:
    await home.holder()
    caller = home.caller(await home.login())
    for _ in range(6):
        with pytest.raises(ValidationError) as error:
            await home.change(caller, "a wrong password", "short")
        assert fields(error) == {"newPassword"}
    await home.change(caller)


async def test_unlocking_ends_the_lock(home: Home) -> None:
    root, user_id = await made_by_admin(home)
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await home.login("a wrong password")
    assert (await home.services.users.get(root, user_id)).is_locked
    assert not (await home.services.users.unlock(root, user_id, HERE)).is_locked
    await home.login()


async def test_one_ends_ones_own_sessions_and_no_others(home: Home) -> None:
    await home.holder()
    here, there = home.caller(await home.login()), home.caller(await home.login())
    listed = (await home.services.own_sessions.all(here)).items
    assert {one.id: one.is_current for one in listed} == {here.session_id: True, there.session_id: False}
    assert {(one.address, one.device) for one in listed} == {("192.0.2.1", "a browser")}
    with pytest.raises(NotFound):
        await home.services.own_sessions.end(await home.admin(), there.session_id, HERE)
    await home.services.own_sessions.end(here, there.session_id, HERE)
    assert (await home.is_alive(here), await home.is_alive(there)) == (True, False)
    for gone in (there.session_id, UUID(int=0)):
        with pytest.raises(NotFound):
            await home.services.own_sessions.end(here, gone, HERE)
    assert [one.id for one in (await home.services.own_sessions.all(here)).items] == [here.session_id]


async def test_a_session_that_ended_by_time_is_not_listed(home: Home) -> None:
    await home.holder()
    home.caller(await home.login())
    home.clock.move(timedelta(minutes=10))
    caller = home.caller(await home.login())
    assert [one.id for one in (await home.services.own_sessions.all(caller)).items] == [caller.session_id]


async def test_a_stolen_refresh_token_is_told_once(home: Home) -> None:
    await home.holder()
    first = await home.login()
    await home.services.sign_in.refresh(RefreshForm(refresh_token=first.refresh_token), HERE)
    home.clock.move(timedelta(seconds=31))
    for _ in range(2):
        with pytest.raises(TokenInvalid):
            await home.services.sign_in.refresh(RefreshForm(refresh_token=first.refresh_token), HERE)
    mail = await home.mail()
    assert (mail.to, mail.subject) == (EMAIL, "Tenantry: A session of yours was ended")


async def test_passwords_may_come_encrypted_wherever_one_is_taken(home: Home) -> None:
    form = RegisterForm(email=EMAIL, password=sealed(home, jti="1"), full_name="Ada Byron", is_password_encrypted=True)
    await home.services.registration.register(form, HERE)
    await home.confirm(await home.token())
    caller = home.caller(await home.login())
    await home.change(caller, sealed(home, jti="2"), sealed(home, NEW, jti="3"))
    await home.login(NEW)
    await home.mails()
    await home.ask()
    token = await home.token()
    with pytest.raises(ValidationError) as error:
        await home.reset(token, sealed(home, "a third password", jti="3"))
    assert fields(error) == {"newPassword"}
    await home.reset(token, sealed(home, "a third password", jti="4"))
    await home.login("a third password")
