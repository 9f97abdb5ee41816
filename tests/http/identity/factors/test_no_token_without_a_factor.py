"""Every public endpoint that can answer tokens, as the document says: nobody enrolled gets one without a factor."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from adapters.http.app import HttpSettings, build_app
from adapters.http.docs.operations import camel
from adapters.http.docs.served import finished
from adapters.http.request.rules import PUBLIC, PUBLIC_OR_TOKEN
from adapters.memory.identity.social import MemorySocialProviders
from adapters.memory.mail import MemoryMailer
from application.ports.identity.accounts import SocialIdentity
from domain.scope import EveryTenant
from tests.authenticator import Authenticator
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD, Json, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.identity.factors.factors import EMAIL, Person, move
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import SETTINGS, Browser, Shop, outcome_of
from tests.http.served import served_by

SOCIAL = "a token of google's"
TOKENS = {"token", "refreshToken", "access_token", "code"}
"""Fields that let somebody in, or lead there."""

Attempt = Callable[[Person], Awaitable[httpx.Response]]


@pytest_asyncio.fixture
async def person() -> AsyncIterator[Person]:
    """Somebody with an authenticator app, and an account at a social provider with the same address."""
    app = await open_test_app(SETTINGS)
    await seed(app)
    providers = app.adapters.social
    assert isinstance(providers, MemorySocialProviders)
    identity = SocialIdentity(provider="google", subject="1", email=EMAIL, email_verified=True, name="Reader")
    cast(dict[str, SocialIdentity], providers.tokens)[SOCIAL] = identity
    found = Person(app)
    assert (await found.login()).status_code == 200
    user_id = UUID(claims_of(app.tokens[found.name])["sub"])
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.confirm_email(user_id, EMAIL, app.adapters.clock.now())
        await tx.social.link("google", "1", user_id, app.adapters.clock.now())
    assert (await by_social(found)).status_code == 200
    # A code of before the factor is the best that anybody can bring.
    found.before["code"] = await (await Shop(app).register()).code()
    await found.add_app()
    yield found
    await app.client.aclose()


async def by_password(person: Person) -> httpx.Response:
    return await person.login()


async def by_social(person: Person) -> httpx.Response:
    return await person.post("social-login", {"provider": "google", "accessToken": SOCIAL})


async def by_refresh(person: Person) -> httpx.Response:
    ticket = await person.ticket()
    return await person.post("refresh", {"refreshToken": ticket})


async def by_a_wrong_code(person: Person) -> httpx.Response:
    return await person.verify(await person.ticket(), code="000000")


async def by_enrolling_another(person: Person) -> httpx.Response:
    ticket = await person.ticket()
    refused = await person.post("mfa/enrol", {"ticket": ticket, "kind": "totp"})
    assert refused.status_code == 400
    return await person.post("mfa/enrol/finish", {"ticket": ticket, "state": ticket, "code": "000000"})


async def by_a_foreign_passkey(person: Person) -> httpx.Response:
    return await person.passkey_login(Authenticator())


async def by_invitation(person: Person) -> httpx.Response:
    """A link to the address proves the address, and is no second factor."""
    mailer = person.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    await person.app.call("POST", "/api/invitations", as_whom="other", json={"email": EMAIL})
    while await person.app.services.relay.deliver():
        pass
    token = said_by(link_in(mailer.sent[-1]))["token"]
    body = {"token": token, "fullName": "Reader", "password": PASSWORD}
    return await person.post("invitations/accept", body)


async def by_client_credentials(person: Person) -> httpx.Response:
    user_id = person.app.adapters.ids.new()
    body = {"grant_type": "client_credentials", "client_id": str(user_id), "client_secret": PASSWORD}
    return await person.app.client.post("/api/auth/token", data=body)


async def by_a_code_of_before(person: Person) -> httpx.Response:
    # Setting up the app moved the clock, and the code lives for a minute.
    move(person.app, -timedelta(seconds=60))
    answer = await Shop(person.app).exchange(person.before["code"])
    move(person.app, timedelta(seconds=60))
    return answer


ATTEMPTS: dict[str, Attempt] = {
    "POST /api/auth/login": by_password,
    "POST /api/auth/social-login": by_social,
    "POST /api/auth/refresh": by_refresh,
    "POST /api/auth/mfa/verify": by_a_wrong_code,
    "POST /api/auth/mfa/enrol/finish": by_enrolling_another,
    "POST /api/auth/passkeys/finish": by_a_foreign_passkey,
    "POST /api/auth/invitations/accept": by_invitation,
    "POST /api/auth/token": by_client_credentials,
    "POST /api/auth/code": by_a_code_of_before,
}
"""The best that somebody can do at each endpoint who knows the password, reads the mails, and holds no factor."""


async def by_redirect(person: Person) -> httpx.Response:
    """A login at the provider that ends at an application of one's own choice."""
    browser = Browser(person.app)
    identity = SocialIdentity(provider="google", subject="1", email=EMAIL, email_verified=True, name="Reader")
    return await browser.travel(identity)


async def by_redirect_to_the_console(person: Person) -> httpx.Response:
    browser = Browser(person.app)
    identity = SocialIdentity(provider="google", subject="1", email=EMAIL, email_verified=True, name="Reader")
    return await browser.travel(identity, asked={})


def answering_tokens(app: TestApp) -> set[str]:
    """Operations that ask for no token, and whose success can hold one, by the document."""
    public = {served.operation for served in served_by(app.services) if served.policy in (PUBLIC, PUBLIC_OR_TOKEN)}
    public = {camel(name) for name in public}
    document = json.loads(json.dumps(finished(build_app(app.services, HttpSettings()).openapi_schema.to_schema())))
    return {
        f"{method.upper()} {path}"
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if operation["operationId"] in public
        for status, response in operation["responses"].items()
        if status.startswith("2") and _names(response, document, frozenset()) & TOKENS
    }


def _names(schema: Any, document: Json, seen: frozenset[str]) -> set[str]:
    """Names of all properties below, references followed."""
    if isinstance(schema, list):
        return {name for part in schema for name in _names(part, document, seen)}
    if not isinstance(schema, dict):
        return set()
    names = set(schema.get("properties", ()))
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference not in seen:
        *_, kind, name = reference.split("/")
        names |= _names(document["components"][kind][name], document, seen | {reference})
    return names.union(*(_names(part, document, seen) for part in schema.values()), set())


@pytest.mark.promise("second factors, attacks: better-auth#9552: a second factor that guards some doors only")
@pytest.mark.promise("sign-in pages, attacks: a second factor that is passed by a code of before it")
async def test_no_public_endpoint_gives_a_token_without_a_factor(person: Person) -> None:
    assert answering_tokens(person.app) == ATTEMPTS.keys()
    for operation, attempt in ATTEMPTS.items():
        answer = await attempt(person)
        given = _keys(answer.json())
        assert not given & TOKENS, f"{operation}: {answer.text}"
        assert not answer.is_success, f"{operation}: {answer.text}"
    assert (await person.verify(await person.ticket())).status_code == 200


@pytest.mark.promise("sign-in pages, attacks: a second factor that is passed by a provider")
async def test_no_page_gives_a_token_or_a_code_without_a_factor(person: Person) -> None:
    """Pages are in no document: what they answer with is looked at whole."""
    for attempt in (by_redirect, by_redirect_to_the_console):
        answer = await attempt(person)
        assert "Location" not in answer.headers
        assert "tenantry=" not in answer.headers.get("Set-Cookie", "")
        assert outcome_of(answer)["errorCode"] == "MFA_REQUIRED"
        assert not _keys(outcome_of(answer)) & TOKENS


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()), set())
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


@pytest.mark.promise(
    "second factors, attacks: CVE-2026-18963, SA-CONTRIB-2023-030: a reset or a confirmation that gives a token or "
    "drops the factor"
)
async def test_proving_the_address_gives_no_token_and_removes_no_factor(person: Person) -> None:
    """CVE-2026-18963, SA-CONTRIB-2023-030: a reset of the password is not a way round the second factor."""
    mailer = person.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    for path in ("request-password-reset", "resend-confirmation"):
        assert (await person.post(path, {"email": EMAIL})).status_code == 200
    while await person.app.services.relay.deliver():
        pass
    reset = said_by(link_in(next(mail for mail in reversed(mailer.sent) if "password" in mail.subject)))
    answer = await person.post("reset-password", {**reset, "newPassword": PASSWORD})
    assert answer.status_code == 200, answer.text
    assert not _keys(answer.json()) & TOKENS
    assert (await person.login()).json()["errorCode"] == "MFA_REQUIRED"


async def test_a_login_at_a_provider_gives_no_guess_at_the_password_back(person: Person) -> None:
    """Or whoever holds an identity there guesses the password without end."""

    async def guessed() -> str:
        return str((await person.login(password="a wrong guess")).json()["errorCode"])

    for _ in range(4):
        assert await guessed() == "INVALID_CREDENTIALS"
    assert (await by_social(person)).json()["errorCode"] == "MFA_REQUIRED"
    assert await guessed() == "INVALID_CREDENTIALS"
    assert await guessed() == "ACCOUNT_LOCKED"
