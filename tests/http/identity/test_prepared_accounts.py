"""Accounts that somebody made for another's address, with a factor of theirs: the owner's proof takes it away."""

from collections.abc import Awaitable, Callable
from typing import cast
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec import UNSET
from msgspec.structs import replace

from adapters.memory.identity.social import MemorySocialProviders
from application.identity.factors.forms import FinishForm
from application.ports.identity.accounts import SocialIdentity
from application.ports.mail_delivery import Message
from domain.errors import TokenInvalid
from domain.identity.tokens import caller_of
from domain.scope import Client, EveryTenant
from tests.http.app import PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.identity.factors import Person, actions
from tests.http.identity.handover.travelling import SETTINGS
from tests.http.identity.steps import claims_of
from tests.mails import link_in, said_by

OWNER = "owner@acme.example"
SOCIAL = "a token of google's"

Proof = Callable[[Person], Awaitable[None]]


@pytest_asyncio.fixture
async def squatter() -> Person:
    """Somebody with an account of an address that nobody has proved, logged in there, with an app and a passkey."""
    app = await open_test_app({**SETTINGS, "TENANTRY_CONFIRM_EMAIL": "false"})
    await seed(app)
    user_id = UUID(await app.make_user("acme", OWNER, ["Member"]))
    async with app.database.transaction(EveryTenant()) as tx:
        state = await tx.users.state(user_id)
        assert state is not None
        # As a registration leaves it; one that an administrator makes counts as confirmed.
        await tx.users.save(replace(state.user, email_confirmed=False), state.user)
    providers = app.adapters.social
    assert isinstance(providers, MemorySocialProviders)
    identity = SocialIdentity(provider="google", subject="1", email=OWNER, email_verified=True, name="Owner")
    cast(dict[str, SocialIdentity], providers.tokens)[SOCIAL] = identity
    person = Person(app, OWNER, "squatter")
    assert (await person.login()).status_code == 200
    await person.add_passkey()
    await person.add_app()
    await mails(app)
    return person


async def mails(app: TestApp) -> list[Message]:
    """The mails that are sent now."""
    app.sent.clear()
    while await app.services.relay.deliver():
        pass
    return list(app.sent)


async def link_of(person: Person, path: str) -> dict[str, str]:
    await mails(person.app)
    assert (await person.post(path, {"email": OWNER})).status_code == 200
    (mail,) = await mails(person.app)
    return said_by(link_in(mail))


async def by_reset(person: Person) -> None:
    link = await link_of(person, "request-password-reset")
    answer = await person.post("reset-password", {**link, "newPassword": PASSWORD, "isPasswordEncrypted": False})
    assert answer.status_code == 200, answer.text


async def by_confirmation(person: Person) -> None:
    answer = await person.post("confirm-email", await link_of(person, "resend-confirmation"))
    assert answer.status_code == 200, answer.text


async def by_provider(person: Person) -> None:
    answer = await person.post("social-login", {"provider": "google", "accessToken": SOCIAL})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("prove", [by_reset, by_confirmation, by_provider])
async def test_the_first_proof_of_an_address_takes_the_factors_of_before_it(squatter: Person, prove: Proof) -> None:
    app, user_id = squatter.app, UUID(claims_of(squatter.app.tokens["squatter"])["sub"])
    async with app.database.transaction(EveryTenant()) as tx:
        before = await tx.passkey_handles.of(user_id, b"none")
    await prove(squatter)
    assert (await squatter.passkey_login()).status_code == 400
    gone = await squatter.post("factors/totp/begin", {}, signed=True)
    assert (gone.status_code, gone.json()["errorCode"]) == (401, "TOKEN_INVALID")
    async with app.database.transaction(EveryTenant()) as tx:
        assert await tx.factors.of(user_id) == []
        assert await tx.recovery_codes.left(user_id) == 0
        assert await tx.passkey_handles.of(user_id, b"fresh") == b"fresh" != before
    assert "factor.unproved" in await actions(app)
    told = [mail.subject for mail in await mails(app) if mail.to == OWNER]
    assert sum("second factor was removed" in subject for subject in told) == 1
    if prove is not by_provider:  # whose claim takes the password as well
        assert (await squatter.login()).status_code == 200


@pytest.mark.parametrize("prove", [by_reset, by_provider])
async def test_factors_of_after_the_first_proof_stay(squatter: Person, prove: Proof) -> None:
    await by_reset(squatter)
    assert (await squatter.login()).status_code == 200
    await squatter.add_app()
    if prove is by_reset:
        await prove(squatter)
    else:
        asked = await squatter.post("social-login", {"provider": "google", "accessToken": SOCIAL})
        assert asked.status_code == 401
    assert (await squatter.verify(await squatter.ticket())).status_code == 200
    assert (await actions(squatter.app)).count("factor.unproved") == 1


async def test_a_ticket_of_before_the_first_proof_sets_up_nothing(squatter: Person) -> None:
    begun = await squatter.done("factors/totp/begin", {})
    squatter.secret = begun["secret"]
    await by_reset(squatter)
    late = await squatter.post(
        "factors/totp/finish", {"state": begun["state"], "code": squatter.code(), "name": "Phone"}, signed=True
    )
    assert (late.status_code, late.json()["errorCode"]) == (401, "TOKEN_INVALID")


async def test_whoever_sets_one_up_at_the_same_moment_is_judged_again_under_the_lock(squatter: Person) -> None:
    """The request had passed the check of its token before the address was proved."""
    services, now = squatter.app.services, squatter.app.clock.now()
    caller = caller_of(services.tokens.read(squatter.app.tokens["squatter"], now))
    begun = await services.my_factors.begin(caller, "totp")
    assert begun.secret is not UNSET
    await by_reset(squatter)
    form = FinishForm(state=begun.state, code=squatter.code(secret=begun.secret))
    with pytest.raises(TokenInvalid):
        await services.my_factors.finish(caller, "totp", form, Client(address="192.0.2.1", network="192.0.2.1"))
    async with squatter.app.database.read_only(EveryTenant()) as read:
        assert await read.factors.of(caller.user_id) == []


async def test_who_has_no_factor_hears_of_none(squatter: Person) -> None:
    app = squatter.app
    await app.make_user("acme", "plain@acme.example", [])
    await mails(app)
    assert (await squatter.post("request-password-reset", {"email": "plain@acme.example"})).status_code == 200
    (mail,) = await mails(app)
    body = {**said_by(link_in(mail)), "newPassword": PASSWORD, "isPasswordEncrypted": False}
    assert (await squatter.post("reset-password", body)).status_code == 200
    assert not [mail for mail in await mails(app) if "second factor" in mail.subject]
    assert "factor.unproved" not in await actions(app)
