"""What a tenant's administrators ask of logins, and that it holds at once."""

from datetime import timedelta

import httpx
import pytest
import pytest_asyncio

from tests.http.app import PASSWORD, Json, TestApp
from tests.http.identity.factors.factors import Person, move
from tests.http.identity.factors.steps import claims_of

SETTINGS = "/api/tenants/current/settings"
DEFAULTS = {
    "requireMfa": False,
    "mfaMethods": [],
    "mfaGraceDays": 0,
    "sessionDays": None,
    "idleDays": None,
    "requiredSince": None,
}


@pytest_asyncio.fixture
async def person(app: TestApp) -> Person:
    found = Person(app)
    await found.login()
    return found


@pytest.mark.promise(
    "second factors, behaviour: a tenant that requires a factor lets nobody past, from the next request on"
)
async def test_a_tenant_that_requires_a_factor_refuses_sessions_from_the_next_request(person: Person) -> None:
    app = person.app
    session = (await person.login()).json()["data"]
    before = (await app.call("GET", SETTINGS, as_whom="acme")).json()["data"]["security"]
    assert before == DEFAULTS
    changed = await app.call("PUT", SETTINGS, as_whom="acme", json={"security": {"requireMfa": True}})
    assert changed.status_code == 200, changed.text
    assert changed.json()["data"]["security"]["requiredSince"] is not None
    stale = await app.call("GET", "/api/products", as_whom=person.name)
    assert (stale.status_code, stale.json()["error"]["code"]) == (401, "UNAUTHORIZED")
    refused = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    assert (refused.status_code, refused.json()["errorCode"]) == (403, "MFA_ENROLMENT_REQUIRED")
    assert (await person.login()).json()["errorCode"] == "MFA_ENROLMENT_REQUIRED"
    other = await Person(app, "admin@other.example", "other").login()
    assert other.status_code == 200


async def test_a_tenant_without_security_has_the_answers_of_before(person: Person) -> None:
    answer = await person.app.call("GET", "/api/tenants/current", as_whom="acme")
    assert "security" not in answer.json()["data"]["settings"]


@pytest.mark.parametrize(
    ("security", "field"),
    [
        ({"mfaGraceDays": -1}, "security.mfaGraceDays"),
        ({"sessionDays": 0}, "security.sessionDays"),
        ({"idleDays": 4_000}, "security.idleDays"),
        ({"mfaMethods": ["recovery"]}, "security.mfaMethods"),
        ({"mfaMethods": ["sms"]}, "security.mfaMethods[0]"),
        ({"requiredSince": "2020-01-01T00:00:00Z"}, "security.requiredSince"),
    ],
)
async def test_what_cannot_be_asked_is_named(person: Person, security: Json, field: str) -> None:
    answer = await person.app.call("PUT", SETTINGS, as_whom="acme", json={"security": security})
    assert (answer.status_code, [error["field"] for error in answer.json()["errors"]]) == (400, [field])


async def test_sessions_end_earlier_with_a_shorter_limit_of_the_tenant(person: Person) -> None:
    changed = await person.app.call("PUT", SETTINGS, as_whom="acme", json={"security": {"idleDays": 1}})
    assert changed.status_code == 200
    session = (await person.login()).json()["data"]
    move(person.app, timedelta(hours=23))
    session = (await person.post("refresh", {"refreshToken": session["refreshToken"]})).json()["data"]
    move(person.app, timedelta(days=1))
    ended = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    assert (ended.status_code, ended.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def entered(person: Person, tenant_id: str) -> httpx.Response:
    """The answer to a switch; the token that comes with it is the person's from now on."""
    answer = await person.post("switch-tenant", {"tenantId": tenant_id}, signed=True)
    if answer.status_code == 200:
        person.app.tokens[person.name] = answer.json()["data"]["token"]
    return answer


async def test_no_switch_carries_a_session_past_its_age(person: Person) -> None:
    session = (await person.login()).json()["data"]
    # 30 days but a minute, in steps of which none is longer than a session may be unused.
    for step in (timedelta(days=6),) * 4 + (timedelta(days=5, hours=23, minutes=59),):
        move(person.app, step)
        session = (await person.post("refresh", {"refreshToken": session["refreshToken"]})).json()["data"]
    person.app.tokens[person.name] = session["token"]
    tenant_id = claims_of(session["token"])["tenant_id"]
    assert (await entered(person, tenant_id)).status_code == 200
    move(person.app, timedelta(minutes=1))
    answer = await entered(person, tenant_id)
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_a_session_is_as_old_as_the_tenant_that_it_enters_allows(person: Person) -> None:
    app = person.app
    user_id, acme = (claims_of(app.tokens[person.name])[name] for name in ("sub", "tenant_id"))
    other = claims_of(app.tokens["other"])["tenant_id"]
    body = {"userId": user_id, "roles": []}
    assert (await app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)).status_code == 201
    strict = await app.call("PUT", SETTINGS, as_whom="acme", json={"security": {"sessionDays": 1}})
    assert strict.status_code == 200, strict.text
    session = (await person.login(preferredTenantId=other)).json()["data"]
    move(app, timedelta(days=1))
    used = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    assert used.status_code == 200, used.text
    app.tokens[person.name] = used.json()["data"]["token"]
    refused = await entered(person, acme)
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    last = used.json()["data"]["refreshToken"]
    refused = await person.post("refresh", {"refreshToken": last, "tenantId": acme})
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "TOKEN_EXPIRED")
    # Where nothing asks for its end the session goes on.
    assert (await person.post("refresh", {"refreshToken": last})).status_code == 200


async def test_no_other_tenant_makes_an_unused_session_a_used_one(person: Person) -> None:
    app = person.app
    user_id, acme = (claims_of(app.tokens[person.name])[name] for name in ("sub", "tenant_id"))
    other = claims_of(app.tokens["other"])["tenant_id"]
    body = {"userId": user_id, "roles": []}
    assert (await app.call("POST", f"/api/tenants/{other}/users", as_whom="root", json=body)).status_code == 201
    assert (await app.call("PUT", SETTINGS, as_whom="acme", json={"security": {"idleDays": 1}})).status_code == 200
    session = (await person.login(preferredTenantId=acme)).json()["data"]
    move(app, timedelta(days=1))
    refused = await person.post("refresh", {"refreshToken": session["refreshToken"], "tenantId": other})
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_reauthentication_does_not_extend_a_session_past_its_age(person: Person) -> None:
    assert (
        await person.app.call("PUT", SETTINGS, as_whom="acme", json={"security": {"sessionDays": 1}})
    ).status_code == 200
    session = (await person.login()).json()["data"]
    move(person.app, timedelta(hours=23, minutes=30))
    used = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    person.app.tokens[person.name] = used.json()["data"]["token"]
    move(person.app, timedelta(minutes=30))
    refused = await person.post("reauthenticate", {"password": PASSWORD, "isPasswordEncrypted": False}, signed=True)
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_unrelated_settings_revoke_no_tokens(person: Person) -> None:
    changed = await person.app.call("PUT", SETTINGS, as_whom="acme", json={"language": "de-DE"})
    assert changed.status_code == 200
    assert (await person.app.call("GET", "/api/auth/me", as_whom=person.name)).status_code == 200
