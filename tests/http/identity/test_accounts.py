"""Accounts over HTTP: shapes, codes and limits, a row for each."""

import asyncio
import json
from datetime import timedelta
from typing import NamedTuple

import pytest

from adapters.memory.clock import MovableClock
from adapters.memory.mail import MemoryMailer
from application.ports.mail_delivery import Message
from tests.builders import link_in, said_by
from tests.http.app import ADMIN, PASSWORD, Json, TestApp, open_test_app

UNKNOWN = "01900000-0000-7000-8000-000000000000"
ADA = {"email": "ada@example.com", "password": "a first password", "fullName": "Ada Byron"}
NEW = "a second password"


async def mails(app: TestApp) -> list[Message]:
    mailer = app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    mailer.sent.clear()
    await app.services.relay.deliver()
    return list(mailer.sent)


async def link(app: TestApp) -> dict[str, str]:
    """Values in the link of the only mail that is sent now."""
    (mail,) = await mails(app)
    return said_by(link_in(mail))


async def ask(app: TestApp, name: str, body: object, whom: str | None = None) -> tuple[int, Json]:
    answer = await app.call("POST", f"/api/auth/{name}", as_whom=whom, json=body)
    return answer.status_code, answer.json()


def wrong(status: int, code: str, *fields: str) -> tuple[int, str, list[str]]:
    return status, code, list(fields)


def told(answer: tuple[int, Json]) -> tuple[int, str, list[str]]:
    status, body = answer
    return status, body["errorCode"], [error["field"] for error in body["errors"]]


class Row(NamedTuple):
    name: str
    path: str
    body: object
    status: int
    code: str | None
    fields: tuple[str, ...] = ()
    whom: str | None = None


def bad(name: str, path: str, body: object, *fields: str, whom: str | None = None) -> Row:
    return Row(name, path, body, 400, "VALIDATION_ERROR", fields, whom)


NO_TOKEN = {"email": "ada@example.com", "token": "x"}
TAKEN = {**ADA, "email": "READER@acme.example"}
CHANGE = {"currentPassword": PASSWORD, "newPassword": NEW}
ROWS = [
    Row("register", "register", ADA, 201, None),
    Row("register, with a telephone", "register", {**ADA, "phoneNumber": "+49 30 1"}, 201, None),
    Row("register, null telephone", "register", {**ADA, "phoneNumber": None}, 201, None),
    Row("register, taken", "register", TAKEN, 409, "CONFLICT", ("email",)),
    bad("register, nothing", "register", {}, "email", "password", "fullName"),
    bad("register, no address", "register", {**ADA, "email": "ada"}, "email"),
    bad("register, two in one", "register", {**ADA, "email": "a@b.c,d@e.f"}, "email"),
    bad("register, short", "register", {**ADA, "password": "1234567"}, "password"),
    bad("register, long", "register", {**ADA, "password": "xy" * 65}, "password"),
    bad("register, common", "register", {**ADA, "password": "password123"}, "password"),
    bad("register, made of the name", "register", {**ADA, "password": "Ada Byron"}, "password"),
    bad("register, no name", "register", {**ADA, "fullName": ""}, "fullName"),
    bad("register, long name", "register", {**ADA, "fullName": "x" * 201}, "fullName"),
    bad("register, long telephone", "register", {**ADA, "phoneNumber": "1" * 51}, "phoneNumber"),
    bad("register, unknown field", "register", {**ADA, "roles": ["Admin"]}, "roles"),
    bad("register, said to be encrypted", "register", {**ADA, "isPasswordEncrypted": True}, "password"),
    bad("confirm, wrong", "confirm-email", NO_TOKEN, "token"),
    bad("confirm, nothing", "confirm-email", {}, "email", "token"),
    Row("resend", "resend-confirmation", {"email": "nobody@example.com"}, 200, None),
    bad("resend, no address", "resend-confirmation", {"email": "x"}, "email"),
    Row("ask for a reset", "request-password-reset", {"email": "nobody@example.com"}, 200, None),
    bad("ask for a reset, no address", "request-password-reset", {"email": "x"}, "email"),
    bad("ask for a reset, nothing", "request-password-reset", {}, "email"),
    bad("reset, wrong", "reset-password", {**NO_TOKEN, "newPassword": NEW}, "token"),
    bad("reset, nothing", "reset-password", {}, "email", "token", "newPassword"),
    bad(
        "reset, said to be encrypted",
        "reset-password",
        {**NO_TOKEN, "newPassword": NEW, "isPasswordEncrypted": True},
        "newPassword",
    ),
    Row("change, no token", "change-password", {}, 401, "UNAUTHORIZED"),
    bad("change, nothing", "change-password", {}, "currentPassword", "newPassword", whom="reader"),
    bad("change, wrong", "change-password", {**CHANGE, "currentPassword": "x"}, "currentPassword", whom="reader"),
    bad("change, weak", "change-password", {**CHANGE, "newPassword": "x"}, "newPassword", whom="reader"),
    bad(
        "change, said to be encrypted",
        "change-password",
        {**CHANGE, "isPasswordEncrypted": True},
        "currentPassword",
        whom="reader",
    ),
    Row("change", "change-password", CHANGE, 200, None, (), "reader"),
]


@pytest.mark.promise("POST /api/auth/resend-confirmation")
@pytest.mark.promise("POST /api/auth/change-password")
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
async def test_each_request_about_an_account_gets_its_status_and_code(app: TestApp, row: Row) -> None:
    status, body = await ask(app, row.path, row.body, row.whom)
    assert (status, body.get("errorCode")) == (row.status, row.code), body
    assert tuple(error["field"] for error in body.get("errors", [])) == row.fields
    if row.status == 200:
        assert body.keys() == {"isSuccess", "message"}
        assert body["isSuccess"] is True


@pytest.mark.promise("POST /api/auth/register")
@pytest.mark.promise("identity, fields: Register: at least 8 characters; id, email, fullName, createdAt")
async def test_a_registration_is_answered_with_success_and_a_location(app: TestApp) -> None:
    answer = await app.call("POST", "/api/auth/register", json=ADA)
    body = answer.json()
    assert body.keys() == {"success", "data"}
    assert body["success"] is True
    assert list(body["data"]) == ["id", "email", "fullName", "createdAt"]
    assert (body["data"]["email"], body["data"]["fullName"]) == (ADA["email"], ADA["fullName"])
    assert answer.headers["Location"] == f"/api/users/{body['data']['id']}"
    assert (await app.call("GET", answer.headers["Location"], as_whom="root")).status_code == 200


@pytest.mark.promise("POST /api/auth/register")
@pytest.mark.promise("POST /api/auth/confirm-email")
async def test_from_registration_to_login(app: TestApp) -> None:
    await ask(app, "register", {**ADA, "phoneNumber": "+49 30 1"})
    login = {"email": ADA["email"], "password": ADA["password"], "isPasswordEncrypted": False}
    assert told(await ask(app, "login", login)) == wrong(401, "EMAIL_NOT_CONFIRMED")
    said = await link(app)
    assert (await ask(app, "confirm-email", said))[0] == 200
    assert told(await ask(app, "confirm-email", said)) == wrong(400, "VALIDATION_ERROR", "token")
    status, body = await ask(app, "login", login)
    assert (status, body["data"]["tokenType"]) == (200, "Global")
    app.tokens["ada"] = body["data"]["token"]
    profile = (await app.call("GET", "/api/auth/me/complete", as_whom="ada")).json()["data"]
    assert (profile["emailConfirmed"], profile["phoneNumber"]) == (True, "+49 30 1")


@pytest.mark.promise("POST /api/auth/request-password-reset")
@pytest.mark.promise("POST /api/auth/reset-password")
async def test_a_reset_from_the_question_to_the_next_login(app: TestApp) -> None:
    await ask(app, "request-password-reset", {"email": "Reader@ACME.example"})
    said = await link(app)
    assert told(await ask(app, "reset-password", {**said, "newPassword": "short"}))[2] == ["newPassword"]
    assert (await app.call("GET", "/api/auth/me", as_whom="reader")).status_code == 200
    assert (await ask(app, "reset-password", {**said, "newPassword": NEW}))[0] == 200
    dead = await app.call("GET", "/api/auth/me", as_whom="reader")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert told(await ask(app, "reset-password", {**said, "newPassword": NEW}))[2] == ["token"]
    login = {"email": "reader@acme.example", "password": NEW, "isPasswordEncrypted": False}
    assert (await ask(app, "login", login))[0] == 200


@pytest.mark.promise("POST /api/auth/request-password-reset")
@pytest.mark.promise("identity, accounts and mail: Reset: the same response in the same time for every address")
@pytest.mark.parametrize("name", ["request-password-reset", "resend-confirmation"])
async def test_the_answer_says_nothing_about_the_address(app: TestApp, name: str) -> None:
    await ask(app, "register", ADA)
    answers = []
    for email in (ADA["email"], ADMIN, "nobody@example.com"):
        app = app if email == ADA["email"] else await open_test_app()
        answer = await app.call("POST", f"/api/auth/{name}", json={"email": email})
        kept = {key: value for key, value in answer.headers.items() if key != "x-request-id"}
        answers.append((answer.status_code, answer.content, kept))
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.promise(
    "identity, limits: Login, register and reset are counted by address, and by e-mail over all networks; the headers "
    "show the tighter limit"
)
@pytest.mark.parametrize(("name", "most"), [("register", 5), ("request-password-reset", 3), ("resend-confirmation", 3)])
async def test_limits_are_per_address_and_per_e_mail(app: TestApp, name: str, most: int) -> None:
    for number in range(most):
        answer = await app.call("POST", f"/api/auth/{name}", json={**ADA} if name == "register" else {"email": ADMIN})
        assert answer.headers["X-RateLimit-Limit"] == str(most)
        assert answer.headers["X-RateLimit-Remaining"] == str(most - 1 - number)
    answer = await app.call("POST", f"/api/auth/{name}", json={"email": "another@example.com"})
    assert (answer.status_code, answer.json()["errorCode"]) == (429, "RATE_LIMITED")
    assert 0 < int(answer.headers["Retry-After"]) <= 60


@pytest.mark.promise("identity, errors: ACCOUNT_LOCKED 401 on login, 423 elsewhere")
async def test_a_locked_account_cannot_change_its_password(app: TestApp) -> None:
    body = {"currentPassword": "a wrong password", "newPassword": NEW}
    for _ in range(5):
        assert told(await ask(app, "change-password", body, "reader"))[2] == ["currentPassword"]
    right = {**body, "currentPassword": PASSWORD}
    assert told(await ask(app, "change-password", right, "reader")) == wrong(423, "ACCOUNT_LOCKED")
    users = (await app.call("GET", "/api/users?search=reader", as_whom="acme")).json()["items"]
    path = f"/api/users/{users[0]['id']}"
    assert (await app.call("GET", path, as_whom="acme")).json()["data"]["isLocked"] is True
    unlocked = await app.call("POST", f"{path}/unlock", as_whom="acme")
    assert (unlocked.status_code, unlocked.json()["data"]["isLocked"]) == (200, False)
    assert (await ask(app, "change-password", right, "reader"))[0] == 200


async def test_the_password_that_an_administrator_set_must_be_changed_to_another(app: TestApp) -> None:
    assert (await app.call("POST", "/api/users", as_whom="acme", json={**ADA, "roles": []})).status_code == 201
    login = {"email": ADA["email"], "password": ADA["password"], "isPasswordEncrypted": False}
    app.tokens["ada"] = (await ask(app, "login", login))[1]["data"]["token"]
    body = {"currentPassword": ADA["password"], "newPassword": ADA["password"]}
    refused = await ask(app, "change-password", body, "ada")
    assert told(refused) == wrong(400, "VALIDATION_ERROR", "newPassword")
    assert refused[1]["errors"][0]["message"] == "is your current password: choose another"
    assert (await ask(app, "login", login))[1]["data"]["mustChangePassword"] is True
    assert (await ask(app, "change-password", {**body, "newPassword": NEW}, "ada"))[0] == 200
    changed = (await ask(app, "login", {**login, "password": NEW}))[1]["data"]
    assert changed["mustChangePassword"] is False


@pytest.mark.promise("security, secrets: a new password is not made of the account, the service or a tenant")
@pytest.mark.parametrize(
    ("name", "body", "field", "whom"),
    [
        ("register", {**ADA, "password": "Tenantry-2026"}, "password", None),
        ("change-password", {"currentPassword": PASSWORD, "newPassword": "Acme_2026!"}, "newPassword", "reader"),
        ("change-password", {"currentPassword": PASSWORD, "newPassword": "tenantry99"}, "newPassword", "reader"),
    ],
)
async def test_a_new_password_is_not_made_of_the_service_or_a_tenant(
    app: TestApp, name: str, body: Json, field: str, whom: str | None
) -> None:
    answer = await ask(app, name, {**body, "isPasswordEncrypted": False}, whom)
    assert told(answer) == wrong(400, "VALIDATION_ERROR", field)
    member = {"email": "new@acme.example", "password": "acme2026", "fullName": "Somebody New"}
    refused = await app.call("POST", "/api/users", as_whom="acme", json=member)
    assert told((refused.status_code, refused.json())) == wrong(400, "VALIDATION_ERROR", "password")
    assert (await app.call("POST", "/api/users", as_whom="other", json=member)).status_code == 201


@pytest.mark.promise("POST /api/users/{user_id}/unlock")
async def test_unlocking_needs_its_permission_and_a_user_of_ones_own(app: TestApp) -> None:
    users = (await app.call("GET", "/api/users?search=reader", as_whom="acme")).json()["items"]
    path = f"/api/users/{users[0]['id']}/unlock"
    assert (await app.call("POST", path, as_whom="reader")).status_code == 403
    assert (await app.call("POST", path, as_whom="other")).status_code == 404
    assert (await app.call("POST", f"/api/users/{UNKNOWN}/unlock", as_whom="acme")).status_code == 404


@pytest.mark.promise("GET /api/auth/sessions")
@pytest.mark.promise("DELETE /api/auth/sessions/{session_id}")
@pytest.mark.promise("identity, refresh tokens and sessions: Sessions are listed and ended")
async def test_sessions_are_listed_and_ended(app: TestApp) -> None:
    agent = {"User-Agent": "A telephone"}
    login = {"email": "reader@acme.example", "password": PASSWORD, "isPasswordEncrypted": False}
    second = await app.call("POST", "/api/auth/login", json=login, headers=agent)
    app.tokens["second"] = second.json()["data"]["token"]
    body = (await app.call("GET", "/api/auth/sessions", as_whom="reader")).json()
    assert body.keys() == {"isSuccess", "data"}
    items = body["data"]["items"]
    fields = {"id", "device", "address", "createdAt", "lastUsedAt", "isCurrent"}
    assert [item.keys() for item in items] == [fields, fields]
    other = next(item for item in items if not item["isCurrent"])
    assert (other["device"], other["address"]) == ("A telephone", "127.0.0.1")
    path = f"/api/auth/sessions/{other['id']}"
    foreign = await app.call("DELETE", path, as_whom="acme")
    unknown = await app.call("DELETE", f"/api/auth/sessions/{UNKNOWN}", as_whom="acme")
    assert (foreign.status_code, foreign.content) == (unknown.status_code, unknown.content) == (404, foreign.content)
    ended = await app.call("DELETE", path, as_whom="reader")
    assert (ended.status_code, ended.json()["isSuccess"]) == (200, True)
    dead = await app.call("GET", "/api/auth/me", as_whom="second")
    assert (dead.status_code, dead.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await app.call("DELETE", path, as_whom="reader")).status_code == 404
    refreshed = await ask(app, "refresh", {"refreshToken": second.json()["data"]["refreshToken"]})
    assert told(refreshed) == wrong(401, "TOKEN_INVALID")


async def test_ending_another_session_requires_a_recent_proof(app: TestApp) -> None:
    """ASVS 7.5.2: a stolen token must not shut its owner out of their other sessions."""
    await app.login("second", "reader@acme.example")
    clock = app.adapters.clock
    assert isinstance(clock, MovableClock)
    clock.move(timedelta(minutes=11))
    items = (await app.call("GET", "/api/auth/sessions", as_whom="reader")).json()["data"]["items"]
    path = {item["isCurrent"]: f"/api/auth/sessions/{item['id']}" for item in items}
    for refused in (path[False], f"/api/auth/sessions/{UNKNOWN}"):
        answer = await app.call("DELETE", refused, as_whom="reader")
        assert (answer.status_code, answer.json()["errorCode"]) == (401, "REAUTHENTICATION_REQUIRED")
        assert "insufficient_user_authentication" in answer.headers["www-authenticate"]
    shown = await app.call("POST", "/api/auth/reauthenticate", as_whom="second", json={"password": PASSWORD})
    app.tokens["second"] = shown.json()["data"]["token"]
    assert (await app.call("DELETE", path[True], as_whom="second")).status_code == 200
    assert (await app.call("GET", "/api/auth/me", as_whom="reader")).status_code == 401
    clock.move(timedelta(minutes=11))
    assert (await app.call("DELETE", path[False], as_whom="second")).status_code == 200
    assert (await app.call("GET", "/api/auth/me", as_whom="second")).status_code == 401


async def test_a_global_token_sees_sessions_and_changes_no_password(app: TestApp) -> None:
    await ask(app, "register", ADA)
    await ask(app, "confirm-email", await link(app))
    login = {"email": ADA["email"], "password": ADA["password"], "isPasswordEncrypted": False}
    app.tokens["ada"] = (await ask(app, "login", login))[1]["data"]["token"]
    items = (await app.call("GET", "/api/auth/sessions", as_whom="ada")).json()["data"]["items"]
    body = {"currentPassword": ADA["password"], "newPassword": NEW}
    assert told(await ask(app, "change-password", body, "ada")) == wrong(403, "FORBIDDEN")
    ended = await app.call("DELETE", f"/api/auth/sessions/{items[0]['id']}", as_whom="ada")
    assert ended.status_code == 200
    assert (await app.call("GET", "/api/auth/me", as_whom="ada")).status_code == 401


async def test_of_many_resets_with_one_token_one_succeeds(app: TestApp) -> None:
    await ask(app, "request-password-reset", {"email": "reader@acme.example"})
    said = await link(app)
    tries = (ask(app, "reset-password", {**said, "newPassword": f"{NEW} {number}"}) for number in range(10))
    assert sorted(status for status, _ in await asyncio.gather(*tries)) == [200, *[400] * 9]


@pytest.mark.promise("identity, accounts and mail: a welcome mail contains a link and never the password")
async def test_a_welcome_mail_holds_a_link_and_not_the_password(app: TestApp) -> None:
    body = {**ADA, "roles": [], "sendWelcomeEmail": True}
    assert (await app.call("POST", "/api/users", as_whom="acme", json=body)).status_code == 201
    (mail,) = await mails(app)
    assert ADA["password"] not in mail.text + mail.html
    clock = app.adapters.clock
    assert isinstance(clock, MovableClock)
    clock.move(timedelta(days=6))
    said = said_by(link_in(mail))
    assert (await ask(app, "reset-password", {**said, "newPassword": NEW}))[0] == 200


@pytest.mark.promise("identity, accounts and mail: links are made from the settings; opening one does not use it up")
async def test_mailed_links_use_the_configured_addresses() -> None:
    app = await open_test_app({"TENANTRY_RESET_URL": "https://app.example/new-password?lang=en"})
    await ask(app, "request-password-reset", {"email": ADMIN})
    (mail,) = await mails(app)
    assert link_in(mail).startswith("https://app.example/new-password?lang=en#email=admin%40example.com&token=")


@pytest.mark.promise("identity, administration: the audit trail, by tenant")
async def test_everything_is_audited(app: TestApp) -> None:
    await ask(app, "register", ADA)
    await ask(app, "confirm-email", await link(app))
    await ask(app, "request-password-reset", {"email": ADA["email"]})
    await ask(app, "reset-password", {**await link(app), "newPassword": NEW})
    events = await app.call("GET", "/api/audit-events?pageSize=100", as_whom="root")
    actions = {event["action"] for event in events.json()["data"]["items"]}
    assert {"user.registered", "email.confirmed", "password.reset"} <= actions
    assert NEW not in json.dumps(events.json())


async def test_a_changed_password_is_audited_in_the_tenant_of_the_change(app: TestApp) -> None:
    assert (await ask(app, "change-password", {"currentPassword": PASSWORD, "newPassword": NEW}, "reader"))[0] == 200
    events = (await app.call("GET", "/api/audit-events?action=password.changed", as_whom="acme")).json()["data"][
        "items"
    ]
    (reader,) = (await app.call("GET", "/api/users?search=reader", as_whom="acme")).json()["items"]
    assert [event["actorId"] for event in events] == [reader["id"]]
