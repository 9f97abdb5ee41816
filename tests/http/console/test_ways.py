"""Ways to sign in to the console beyond the password: second factors, setting one up, and passkeys."""

from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest_asyncio

from tests.http.app import PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.console.placeholder import HTTPS
from tests.http.identity.factors import Person, ask_for_factors, move
from tests.http.identity.steps import claims_of

OURS = {"Sec-Fetch-Site": "same-origin", "X-Console": "1"}


@pytest_asyncio.fixture
async def person() -> AsyncIterator[Person]:
    app = await open_test_app(console=HTTPS, counts_limits=False)
    await seed(app)
    found = Person(app)
    await found.login()
    yield found
    await app.client.aclose()


async def sign_in(app: TestApp, way: str, **body: object) -> httpx.Response:
    return await app.call("POST", "/console/session", json={"with": way, **body}, headers=OURS)


async def by_password(person: Person) -> httpx.Response:
    return await sign_in(person.app, "password", email=person.email, password=PASSWORD, isPasswordEncrypted=False)


def ensure_kept(answer: httpx.Response) -> None:
    """Signed in, with the refresh token in the cookie alone."""
    assert answer.status_code == 200, answer.text
    token = answer.headers["Set-Cookie"].partition(";")[0].removeprefix("__Host-tenantry=")
    assert token
    assert token not in answer.text
    assert "refreshToken" not in answer.json()["data"]


async def test_a_login_that_waits_for_a_factor_sets_no_cookie_and_goes_on_with_mfa(person: Person) -> None:
    await person.add_app()
    waiting = await by_password(person)
    assert (waiting.status_code, waiting.json()["errorCode"]) == (401, "MFA_REQUIRED")
    assert "Set-Cookie" not in waiting.headers
    ticket = waiting.json()["mfa"]["ticket"]
    wrong = await sign_in(person.app, "mfa", ticket=ticket, method="totp", code="000000")
    assert (wrong.status_code, "Set-Cookie" in wrong.headers) == (400, False)
    right = await sign_in(person.app, "mfa", ticket=ticket, method="totp", code=person.code())
    ensure_kept(right)
    assert claims_of(right.json()["data"]["token"])["amr"] == ["pwd", "otp", "mfa"]


async def test_a_passkey_signs_in_alone(person: Person) -> None:
    await person.add_passkey()
    begun = (await person.post("passkeys/begin", {})).json()["data"]
    response = person.key.show(begun["options"])
    answer = await sign_in(person.app, "passkey", state=begun["state"], response=response)
    ensure_kept(answer)
    again = await sign_in(person.app, "passkey", state=begun["state"], response=response)
    assert (again.status_code, "Set-Cookie" in again.headers) == (400, False)


async def test_a_factor_that_a_tenant_requires_is_set_up_on_the_way_in(person: Person) -> None:
    current = await person.app.call("GET", "/api/tenants/current", as_whom="acme")
    await ask_for_factors(person.app, current.json()["data"]["id"])
    move(person.app, timedelta(days=400))  # beyond any time that the tenant grants
    waiting = await by_password(person)
    assert (waiting.status_code, waiting.json()["errorCode"]) == (401, "MFA_ENROLMENT_REQUIRED")
    ticket = waiting.json()["mfa"]["ticket"]
    begun = (await person.post("mfa/enrol", {"ticket": ticket, "kind": "totp"})).json()["data"]
    code = person.code(secret=begun["secret"])
    answer = await sign_in(person.app, "enrol", ticket=ticket, state=begun["state"], code=code)
    ensure_kept(answer)
    assert len(answer.json()["data"]["recoveryCodes"]) == 10
