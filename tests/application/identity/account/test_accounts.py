"""Use cases of account holders: links work once and in time, and a new password ends sessions."""

from datetime import timedelta
from uuid import UUID

import pytest

from application.identity.account.accounts import EmailForm
from application.identity.administration.tenant_forms import NewTenantForm
from application.identity.administration.user_forms import NewUserForm, UserForm
from application.identity.login.forms import RefreshForm
from domain.entities.declaration import Registry
from domain.errors import (
    AccountLocked,
    Conflict,
    EmailNotConfirmed,
    Error,
    InvalidCredentials,
    TokenInvalid,
    ValidationError,
)
from domain.limits import LINKS_APART
from domain.scope import Caller, EveryTenant
from tests.application.in_memory_service import EMAIL, HERE, NEW, PASSWORD, InMemoryService, open_service
from tests.builders import link_in, said_by
from tests.http.app import ADMIN


@pytest.fixture
async def service(registry: Registry) -> InMemoryService:
    return await open_service(registry)


def fields(error: pytest.ExceptionInfo[Error]) -> set[str]:
    return {detail.field for detail in error.value.fields}


@pytest.mark.promise("identity, errors: EMAIL_NOT_CONFIRMED 401")
async def test_who_registered_logs_in_once_the_address_is_confirmed(service: InMemoryService) -> None:
    made = await service.register(" Ada@Example.com ")
    with pytest.raises(EmailNotConfirmed):
        await service.login()
    mail = await service.mail()
    assert (mail.to, made.email) == ("Ada@Example.com", "Ada@Example.com")
    assert link_in(mail).startswith("http://127.0.0.1:8000/account/confirm#")
    assert link_in(mail).replace("&", "&amp;") in mail.html
    await service.confirm(said_by(link_in(mail))["token"], "ADA@example.com")
    result = await service.login()
    assert (result.is_global, result.must_change_password) == (True, False)


async def test_without_confirmation_a_user_logs_in_at_once_and_gets_no_mail(registry: Registry) -> None:
    service = await open_service(registry, {"TENANTRY_CONFIRM_EMAIL": "false"})
    await service.register()
    await service.login()
    assert await service.mails() == []
    await service.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    await service.confirm(await service.token())


@pytest.mark.promise("identity, errors: CONFLICT 409")
async def test_a_taken_address_is_a_conflict(service: InMemoryService) -> None:
    await service.register()
    with pytest.raises(Conflict) as error:
        await service.register("ADA@example.com")
    assert fields(error) == {"email"}
    assert len(await service.mails()) == 1


@pytest.mark.promise("identity, accounts and mail: DEFAULT_TENANT")
@pytest.mark.parametrize("closed", [False, True])
async def test_a_registered_user_joins_the_default_tenant_while_it_is_active(registry: Registry, closed: bool) -> None:
    service = await open_service(registry, {"TENANTRY_DEFAULT_TENANT": "acme", "TENANTRY_CONFIRM_EMAIL": "false"})
    if not closed:
        root = await service.admin()
        await service.services.tenants.create(root, NewTenantForm(name="Acme", identifier="acme"), HERE)
    await service.register()
    result = await service.login()
    assert result.is_global is closed
    if result.current_tenant is not None:
        assert service.caller(result).roles == ("Member",)


@pytest.mark.promise("POST /api/auth/confirm-email")
@pytest.mark.promise("identity, accounts and mail: Confirmation and resending it")
async def test_a_confirmation_works_once_for_a_day(service: InMemoryService) -> None:
    await service.register()
    token = await service.token()
    service.clock.move(timedelta(hours=24))
    with pytest.raises(ValidationError) as error:
        await service.confirm(token)
    assert fields(error) == {"token"}
    await service.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    again = await service.token()
    await service.confirm(again)
    for spent in (token, again):
        with pytest.raises(ValidationError):
            await service.confirm(spent)


@pytest.mark.promise("POST /api/auth/resend-confirmation")
@pytest.mark.promise("identity, accounts and mail: Confirmation and resending it")
async def test_resending_a_confirmation_sends_mail_only_to_unconfirmed_addresses(service: InMemoryService) -> None:
    await service.holder()
    for email in (EMAIL, "nobody@example.com", ADMIN):
        await service.services.accounts.request_link("confirmation", EmailForm(email=email))
    assert await service.mails() == []


@pytest.mark.promise("identity, accounts and mail: a reset ends every session, removes a lock and confirms the address")
async def test_a_reset_sets_the_password_and_ends_existing_sessions(service: InMemoryService) -> None:
    await service.holder()
    before = await service.login()
    caller = service.caller(before)
    await service.ask("ADA@example.com")
    mail = await service.mail()
    assert (mail.to, link_in(mail).partition("#")[0]) == (EMAIL, "http://127.0.0.1:8000/account/reset")
    await service.reset(said_by(link_in(mail))["token"])
    assert not await service.is_alive(caller)
    with pytest.raises(TokenInvalid):
        await service.services.renewal.refresh(RefreshForm(refresh_token=before.refresh_token), HERE)
    with pytest.raises(InvalidCredentials):
        await service.login()
    await service.login(NEW)
    notice = await service.mail()
    assert (notice.to, "192.0.2.1" in notice.text, "#" in notice.text) == (EMAIL, True, False)


@pytest.mark.promise("identity, passwords: a lock ends by a reset, by an administrator, by the command line")
@pytest.mark.promise("identity, accounts and mail: a reset ends every session, removes a lock and confirms the address")
async def test_a_reset_confirms_the_address_and_lifts_the_lock(service: InMemoryService) -> None:
    await service.register()
    await service.mails()
    for _ in range(5):
        with pytest.raises(InvalidCredentials):
            await service.login("a wrong password")
    with pytest.raises(AccountLocked):
        await service.login()
    await service.ask()
    await service.reset(await service.token())
    await service.login(NEW)


@pytest.mark.promise(
    "identity, accounts and mail: a reset token lives 60 minutes, works once, and the use of one ends the others; all "
    "wrong ones get the same response"
)
async def test_a_reset_token_works_once_for_an_hour(service: InMemoryService) -> None:
    await service.holder()
    await service.ask()
    token = await service.token()
    service.clock.move(timedelta(minutes=60) - timedelta(microseconds=1))
    await service.reset(token)
    with pytest.raises(ValidationError) as error:
        await service.reset(token, "a third password")
    assert fields(error) == {"token"}
    await service.mails()
    await service.ask()
    late = await service.token()
    service.clock.move(timedelta(minutes=60))
    with pytest.raises(ValidationError) as error:
        await service.reset(late)
    assert fields(error) == {"token"}
    await service.login(NEW)


@pytest.mark.promise(
    "identity, accounts and mail: a reset token lives 60 minutes, works once, and the use of one ends the others; all "
    "wrong ones get the same response"
)
@pytest.mark.promise(
    "security, lockout: an address gets one mail of a kind in five minutes, and a new request leaves the last link "
    "alive"
)
async def test_a_newer_reset_token_leaves_the_older_alive_until_one_is_used(service: InMemoryService) -> None:
    await service.holder()
    await service.ask()
    old = await service.token()
    service.clock.move(LINKS_APART)
    await service.ask()
    new = await service.token()
    await service.reset(old)
    with pytest.raises(ValidationError):
        await service.reset(new)


@pytest.mark.promise(
    "security, lockout: an address gets one mail of a kind in five minutes, and a new request leaves the last link "
    "alive"
)
async def test_an_address_gets_one_mail_of_a_kind_in_five_minutes(service: InMemoryService) -> None:
    await service.holder()
    for _ in range(3):
        await service.ask()
    assert len(await service.mails()) == 1
    service.clock.move(LINKS_APART - timedelta(microseconds=1))
    await service.ask()
    assert await service.mails() == []
    service.clock.move(timedelta(microseconds=1))
    await service.ask()
    assert len(await service.mails()) == 1


@pytest.mark.promise("identity, accounts and mail: a weak password does not use up the reset token")
@pytest.mark.parametrize("weak", ["short", "x" * 129, "password123", EMAIL, "Ada Byron"])
async def test_a_weak_password_does_not_spend_the_token(service: InMemoryService, weak: str) -> None:
    await service.holder()
    await service.ask()
    token = await service.token()
    with pytest.raises(ValidationError) as error:
        await service.reset(token, weak)
    assert fields(error) == {"newPassword"}
    await service.reset(token)


@pytest.mark.promise(
    "identity, accounts and mail: a reset token lives 60 minutes, works once, and the use of one ends the others; all "
    "wrong ones get the same response"
)
async def test_a_token_is_of_one_address_and_one_purpose(service: InMemoryService) -> None:
    await service.register()
    confirmation = await service.token()
    await service.ask()
    reset = await service.token()
    with pytest.raises(ValidationError):
        await service.reset(confirmation)
    with pytest.raises(ValidationError):
        await service.confirm(reset)
    for email in (ADMIN, "nobody@example.com", "no address"):
        with pytest.raises(ValidationError) as error:
            await service.reset(reset, email=email)
        assert fields(error) == {"token"}
    await service.reset(reset)


@pytest.mark.promise("identity, accounts and mail: Reset: the same response in the same time for every address")
async def test_asking_leaves_the_same_behind_for_every_address(service: InMemoryService) -> None:
    """The relay finds out whether an address has an account, at a time when no client waits for a response."""
    await service.holder()
    outboxes = []
    for email in (EMAIL, "nobody@example.com"):
        await service.ask(email)
        async with service.adapters.database.autocommit(EveryTenant()) as tx:
            (due,) = await tx.outbox.take(10, service.clock.now(), timedelta())
            await tx.outbox.done(due.mail.id)
        outboxes.append((due.mail.kind, due.mail.name, due.mail.address, due.mail.at))
    assert outboxes[0] == outboxes[1]


async def test_a_reset_sends_no_mail_to_an_address_without_an_account(service: InMemoryService) -> None:
    await service.ask("nobody@example.com")
    assert await service.mails() == []
    async with service.adapters.database.autocommit(EveryTenant()) as tx:
        assert await tx.outbox.take(10, service.clock.now() + timedelta(days=9), timedelta()) == []


async def test_a_disabled_account_gets_no_link_and_its_links_end(service: InMemoryService) -> None:
    made = await service.holder()
    await service.ask()
    token = await service.token()
    await service.services.users.update(await service.admin(), made.id, UserForm(is_active=False), HERE)
    with pytest.raises(ValidationError):
        await service.reset(token)
    await service.ask()
    assert await service.mails() == []


async def made_by_admin(service: InMemoryService, *, welcome: bool = False) -> tuple[Caller, UUID]:
    """The administrator, and the id of the account made for the test."""
    root = await service.admin()
    form = NewUserForm(email=EMAIL, password=PASSWORD, full_name="Ada Byron", send_welcome_email=welcome)
    return root, (await service.services.users.create(root, form, HERE)).id


async def test_a_welcome_is_a_link_and_never_a_password(service: InMemoryService) -> None:
    await made_by_admin(service, welcome=True)
    mail = await service.mail()
    assert PASSWORD not in mail.text + mail.html
    service.clock.move(timedelta(days=7) - timedelta(seconds=1))
    await service.reset(said_by(link_in(mail))["token"])
    result = await service.login(NEW)
    assert result.must_change_password is False


@pytest.mark.promise("identity, accounts and mail: a welcome mail contains a link and never the password")
async def test_no_welcome_unless_asked_for(service: InMemoryService) -> None:
    await made_by_admin(service)
    assert await service.mails() == []


@pytest.mark.promise("identity, accounts and mail: a new address is unconfirmed; the previous address is told")
async def test_a_new_address_needs_confirmation_and_the_old_address_is_notified(service: InMemoryService) -> None:
    root, user_id = await made_by_admin(service)
    await service.ask()
    old = await service.token()
    await service.services.users.update(root, user_id, UserForm(email="new@example.com"), HERE)
    with pytest.raises(EmailNotConfirmed):
        await service.login(email="new@example.com")
    for email in (EMAIL, "new@example.com"):
        with pytest.raises(ValidationError):
            await service.reset(old, email=email)
    to = {mail.to: mail for mail in await service.mails()}
    assert to.keys() == {EMAIL, "new@example.com"}
    assert "new@example.com" not in to[EMAIL].text
    await service.confirm(said_by(link_in(to["new@example.com"]))["token"], "new@example.com")
    await service.login(email="new@example.com")
    await service.services.users.update(root, user_id, UserForm(email=EMAIL), HERE)
    with pytest.raises(ValidationError):
        await service.reset(old)


@pytest.mark.promise("security, rights: a session from before the proof of an address does not survive it")
async def test_a_session_from_before_the_proof_of_the_address_ends_with_it(registry: Registry) -> None:
    """Without confirmation somebody else may have registered the address, and sit in the account of its owner."""
    service = await open_service(registry, {"TENANTRY_CONFIRM_EMAIL": "false"})
    await service.register()
    early = await service.login()
    await service.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    token = await service.token()
    assert await service.is_alive(service.caller(early))
    await service.confirm(token)
    assert not await service.is_alive(service.caller(early))
    with pytest.raises(TokenInvalid):
        await service.services.renewal.refresh(RefreshForm(refresh_token=early.refresh_token), HERE)
    late = await service.login()
    await service.services.accounts.request_link("confirmation", EmailForm(email=EMAIL))
    assert await service.mails() == []
    assert await service.is_alive(service.caller(late))
