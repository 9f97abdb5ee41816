"""Public handlers that stand in no document, such as pages: those that can let somebody in, and all others.

What stands in the document is judged by tests/http/identity/factors/test_no_token_without_a_factor.py.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from uuid import UUID

import httpx
import pytest_asyncio

from adapters.http.app import HttpSettings
from adapters.http.request.rules import PUBLIC, PUBLIC_OR_TOKEN
from adapters.mail.inbox import FileInbox
from adapters.memory.mail import MemoryMailer
from application.ports.identity.accounts import SocialIdentity
from domain.scope import EveryTenant
from tests.authenticator import Authenticator
from tests.builders import link_in, said_by
from tests.http.app import PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.console.placeholder import HTTPS
from tests.http.console.test_pages import OURS, sign_in
from tests.http.identity.factors.factors import EMAIL, Person
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import SETTINGS, Browser, Shop
from tests.http.served import served_by

Attempt = Callable[[Person], Awaitable[httpx.Response]]

GOOGLE = SocialIdentity(provider="google", subject="1", email=EMAIL, email_verified=True, name="Reader")


@pytest_asyncio.fixture
async def without_a_factor() -> AsyncIterator[Person]:
    app = await open_test_app(SETTINGS, console=HTTPS)
    await seed(app)
    yield Person(app)
    await app.client.aclose()


@pytest_asyncio.fixture
async def person() -> AsyncIterator[Person]:
    """Somebody with an authenticator app and an account at a provider, whose console has a cookie of before."""
    app = await open_test_app(SETTINGS, console=HTTPS)
    await seed(app)
    found = Person(app)
    await found.login()
    user_id = UUID(claims_of(app.tokens[found.name])["sub"])
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.confirm_email(user_id, EMAIL, app.adapters.clock.now())
        await tx.social.link("google", "1", user_id, app.adapters.clock.now())
    before = await sign_in(app, "password", email=EMAIL, password=PASSWORD, isPasswordEncrypted=False)
    found.before["cookie"] = before.headers["Set-Cookie"].partition(";")[0]
    app.client.cookies.clear()
    await found.login()
    await found.add_app()
    yield found
    await app.client.aclose()


async def by_password(person: Person) -> httpx.Response:
    return await sign_in(person.app, "password", email=EMAIL, password=PASSWORD, isPasswordEncrypted=False)


async def by_a_wrong_code(person: Person) -> httpx.Response:
    return await sign_in(person.app, "mfa", ticket=await person.ticket(), method="totp", code="000000")


async def by_setting_up_another(person: Person) -> httpx.Response:
    ticket = await person.ticket()
    return await sign_in(person.app, "enrol", ticket=ticket, state=ticket, code="000000")


async def by_a_foreign_passkey(person: Person) -> httpx.Response:
    begun = (await person.post("passkeys/begin", {})).json()["data"]
    shown = Authenticator().show(begun["options"])
    return await sign_in(person.app, "passkey", state=begun["state"], response=shown)


async def by_an_invitation(person: Person) -> httpx.Response:
    mailer = person.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    await person.app.call("POST", "/api/invitations", as_whom="other", json={"email": EMAIL})
    while await person.app.services.relay.deliver():
        pass
    token = said_by(link_in(mailer.sent[-1]))["token"]
    return await sign_in(person.app, "invitation", token=token, fullName="Reader", password=PASSWORD)


WAYS: dict[str, Attempt] = {
    "password": by_password,
    "mfa": by_a_wrong_code,
    "enrol": by_setting_up_another,
    "passkey": by_a_foreign_passkey,
    "invitation": by_an_invitation,
}
"""The best that somebody can do by each way of the console's sign-in who holds no factor."""


async def by_a_provider(person: Person) -> httpx.Response:
    person.app.client.cookies.clear()
    return await Browser(person.app).travel(GOOGLE, asked={})


async def by_a_provider_for_an_application(person: Person) -> httpx.Response:
    await Shop(person.app).register()
    return await Browser(person.app).travel(GOOGLE)


async def by_the_ticket_as_a_cookie(person: Person) -> httpx.Response:
    name = person.before["cookie"].partition("=")[0]
    headers = {**OURS, "Cookie": f"{name}={await person.ticket()}"}
    person.app.client.cookies.clear()
    return await person.app.call("POST", "/console/session/refresh", json={}, headers=headers)


ATTEMPTS: dict[str, tuple[Attempt, ...]] = {
    "POST /console/session": tuple(WAYS.values()),
    "POST /console/session/refresh": (by_the_ticket_as_a_cookie,),
    "GET /api/auth/social/{provider}/callback": (by_a_provider, by_a_provider_for_an_application),
}
"""Public handlers outside the document that can let somebody in."""

NOBODY_IS_LET_IN = {
    "GET /",
    "GET /metrics",
    "GET /dev/mail",
    "GET /dev/mail/{id}",
    "GET /account/confirm",
    "GET /account/invitation",
    "GET /account/reset",
    "GET /account/assets/{name}",
    "GET /account/login",
    "GET /account/register",
    "GET /account/security",
    "GET /api/auth/social/{provider}/start",
    "DELETE /console/session",
    "GET /console",
    "GET /console/{name}",
    "GET /docs",
    "GET /docs/index.html",
    "GET /docs/encrypted-passwords.html",
    "GET /docs/client.js",
    "GET /docs/client.d.ts",
    "GET /docs/assets/{name}",
}
"""All others: they answer with the same for everybody, or end something."""


def outside_the_document(app: TestApp) -> set[str]:
    settings = HttpSettings(console=HTTPS, inbox=FileInbox(Path("unused")))
    return {
        f"{served.method} {served.path}"
        for served in served_by(app.services, settings)
        if served.handler.resolve_include_in_schema() is False and served.policy in (PUBLIC, PUBLIC_OR_TOKEN)
    }


async def test_every_public_handler_outside_the_document_is_judged(person: Person) -> None:
    assert outside_the_document(person.app) == ATTEMPTS.keys() | NOBODY_IS_LET_IN
    refused = await sign_in(person.app, "nothing")
    told = refused.json()["errors"][0]["message"].removeprefix("must be one of: ")
    assert set(told.split(", ")) == WAYS.keys()


async def test_no_door_outside_the_document_opens_without_a_factor(person: Person) -> None:
    cookie = person.before["cookie"].partition("=")[0]
    for door, attempts in ATTEMPTS.items():
        for attempt in attempts:
            answer = await attempt(person)
            assert f"{cookie}=" not in answer.headers.get("Set-Cookie", ""), door
            assert "Location" not in answer.headers, door
            assert "&quot;token&quot;" not in answer.text, door
            assert '"token"' not in answer.text, door
    assert (await person.verify(await person.ticket())).status_code == 200


async def test_the_same_endpoints_log_in_a_user_without_a_required_factor(without_a_factor: Person) -> None:
    """What the test above looks for is what an opened door shows."""
    app = without_a_factor.app
    opened = await by_password(without_a_factor)
    assert '"token"' in opened.text
    assert "tenantry=" in opened.headers["Set-Cookie"]
    stranger = SocialIdentity(provider="google", subject="2", email="new@x.example", email_verified=True, name="New")
    assert "&quot;token&quot;" in (await Browser(app).travel(stranger, asked={})).text
    await Shop(app).register()
    assert "code=" in (await Browser(app).travel(stranger)).headers["Location"]
