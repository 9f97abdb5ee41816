"""Accounts that somebody made for another's address, with a factor of theirs: it logs nobody in once the owner came."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
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
from tests.authenticator import Authenticator
from tests.http.app import PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.identity.factors import Person, actions, move
from tests.http.identity.hosted_login.travelling import SETTINGS
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
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "MFA_REQUIRED")


@pytest.mark.promise(
    "second factors, ASVS 5.0: 6.4.4: passkeys of before the first proof of an address log nobody in alone "
    "(pre-hijacking)"
)
@pytest.mark.parametrize("prove", [by_reset, by_confirmation, by_provider])
async def test_after_the_first_proof_of_an_address_no_passkey_of_before_logs_in_alone(
    squatter: Person, prove: Proof
) -> None:
    app, user_id = squatter.app, UUID(claims_of(squatter.app.tokens["squatter"])["sub"])
    await prove(squatter)
    assert (await squatter.passkey_login()).status_code == 400
    gone = await squatter.post("factors/totp/begin", {}, signed=True)
    assert (gone.status_code, gone.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert "factor.unproved" in await actions(app)
    # no proof of an address removes a factor: whoever reads the mails of another is not let in by them
    async with app.database.read_only(EveryTenant()) as read:
        assert {factor.kind for factor in await read.factors.of(user_id)} == {"passkey", "totp"}
        assert await read.recovery_codes.left(user_id) == 10
    if prove is not by_provider:  # whose claim takes the password as well
        assert (await squatter.login()).status_code == 401
        assert (await squatter.show_passkey(await squatter.ticket())).status_code == 200


async def test_a_passkey_of_after_the_first_proof_logs_in_alone(squatter: Person) -> None:
    await by_reset(squatter)
    assert (await squatter.verify(await squatter.ticket())).status_code == 200
    key = Authenticator()
    await squatter.add_passkey(key)
    await by_reset(squatter)
    assert (await squatter.passkey_login()).status_code == 400
    assert (await squatter.passkey_login(key)).status_code == 200
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
        assert len(await read.factors.of(caller.user_id)) == 2  # those of before


async def test_a_passkey_of_before_is_registered_anew(squatter: Person) -> None:
    """A browser refuses to register an authenticator again whose credential is excluded."""
    begun = await squatter.done("factors/passkeys/begin", {})
    assert len(begun["options"]["excludeCredentials"]) == 1
    await by_reset(squatter)
    assert (await squatter.show_passkey(await squatter.ticket())).status_code == 200
    begun = await squatter.done("factors/passkeys/begin", {})
    assert begun["options"].get("excludeCredentials", []) == []


async def test_a_changed_address_is_as_good_as_a_first_proof_once_its_owner_sets_a_password(squatter: Person) -> None:
    """The owner opens the link of a change that they did not ask for, and comes to their senses."""
    await by_reset(squatter)
    assert (await squatter.verify(await squatter.ticket())).status_code == 200
    before, after = Authenticator(), Authenticator()
    await squatter.add_passkey(before)
    assert (await squatter.post("me/email", {"email": "victim@other.example"}, signed=True)).status_code == 200
    (link,) = [mail for mail in await mails(squatter.app) if mail.to == "victim@other.example"]
    assert (await squatter.post("confirm-email", said_by(link_in(link)))).status_code == 200
    move(squatter.app, timedelta(seconds=1))
    assert (await squatter.passkey_login(before)).status_code == 200
    await squatter.add_passkey(after)
    assert (await squatter.post("request-password-reset", {"email": "victim@other.example"})).status_code == 200
    (link,) = [mail for mail in await mails(squatter.app) if "set a new password" in mail.subject.lower()]
    body = {**said_by(link_in(link)), "newPassword": PASSWORD, "isPasswordEncrypted": False}
    assert (await squatter.post("reset-password", body)).status_code == 200
    logins = [await squatter.passkey_login(key) for key in (before, after)]
    assert [answer.status_code for answer in logins] == [400, 200]
