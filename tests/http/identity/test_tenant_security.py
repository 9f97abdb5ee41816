"""What a tenant's administrators ask of logins, and that it holds at once."""

from datetime import timedelta

import pytest
import pytest_asyncio

from tests.http.app import Json, TestApp
from tests.http.identity.factors import Person, move

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


async def test_a_tenant_that_requires_a_factor_lets_nobody_past_from_the_next_request_on(person: Person) -> None:
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


async def test_sessions_end_earlier_where_the_tenant_says_so(person: Person) -> None:
    changed = await person.app.call("PUT", SETTINGS, as_whom="acme", json={"security": {"idleDays": 1}})
    assert changed.status_code == 200
    session = (await person.login()).json()["data"]
    move(person.app, timedelta(hours=23))
    session = (await person.post("refresh", {"refreshToken": session["refreshToken"]})).json()["data"]
    move(person.app, timedelta(days=1))
    ended = await person.post("refresh", {"refreshToken": session["refreshToken"]})
    assert (ended.status_code, ended.json()["errorCode"]) == (401, "TOKEN_EXPIRED")


async def test_other_settings_leave_tokens_alone(person: Person) -> None:
    changed = await person.app.call("PUT", SETTINGS, as_whom="acme", json={"language": "de-DE"})
    assert changed.status_code == 200
    assert (await person.app.call("GET", "/api/auth/me", as_whom=person.name)).status_code == 200
