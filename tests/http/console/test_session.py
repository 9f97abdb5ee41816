"""`/console/session`: the refresh token stays in a cookie, and no other page makes a browser use it."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.http.console.pages import Console
from adapters.memory.mail import MemoryMailer
from tests.builders import link_in
from tests.http.app import ADMIN, PASSWORD, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.console.placeholder import HTTP, HTTPS

OURS = {"Sec-Fetch-Site": "same-origin", "X-Console": "1"}
MEMBER = "admin@acme.example"
Json = dict[str, Any]


@pytest_asyncio.fixture
async def app() -> AsyncIterator[TestApp]:
    opened = await open_test_app(console=HTTPS, counts_limits=False)
    await seed(opened)
    yield opened
    await opened.client.aclose()


async def sign_in(app: TestApp, email: str = MEMBER, password: str = PASSWORD, **more: Any) -> httpx.Response:
    body = {"with": "password", "email": email, "password": password, "isPasswordEncrypted": False}
    return await app.call("POST", "/console/session", json=body | more.pop("body", {}), headers=OURS | more)


def set_by(answer: httpx.Response) -> str:
    """The value of the cookie that an answer sets."""
    return answer.headers["Set-Cookie"].partition(";")[0].partition("=")[2]


async def ask(app: TestApp, method: str, path: str, cookie: str | None, json: object = None) -> httpx.Response:
    app.client.cookies.clear()
    kept = {} if cookie is None else {"Cookie": f"__Host-tenantry={cookie}"}
    return await app.call(method, f"/console/session{path}", json=json, headers=OURS | kept)


async def works(app: TestApp, token: str) -> bool:
    answer = await app.client.get("/api/auth/me/complete", headers={"Authorization": f"Bearer {token}"})
    return answer.status_code == 200


@pytest.mark.promise(
    "security, console: the refresh token of the console is in no answer, and its cookie is for this host and no script"
)
async def test_signing_in_answers_as_the_public_endpoint_but_for_the_refresh_token(app: TestApp) -> None:
    public = await app.login("again", MEMBER)
    answer = await sign_in(app)
    data = answer.json()["data"]
    assert answer.status_code == 200
    assert data.keys() == public.keys() - {"refreshToken"}
    assert set_by(answer) not in answer.text
    assert "refresh" not in answer.text.lower()
    assert await works(app, data["token"])
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.promise(
    "security, console: the refresh token of the console is in no answer, and its cookie is for this host and no script"
)
@pytest.mark.parametrize(
    ("console", "start", "end"),
    [
        (HTTPS, "__Host-tenantry=", "; Max-Age=604800; Path=/; HttpOnly; SameSite=Strict; Secure"),
        (HTTP, "tenantry=", "; Max-Age=604800; Path=/; HttpOnly; SameSite=Strict"),
    ],
)
async def test_the_cookie_is_for_this_host_and_no_script(console: Console, start: str, end: str) -> None:
    app = await open_test_app(console=console, counts_limits=False)
    answer = await sign_in(app, ADMIN)
    (cookie,) = answer.headers.get_list("Set-Cookie")
    assert cookie.startswith(start)
    assert cookie.endswith(end)
    await app.client.aclose()


async def test_refreshing_uses_the_cookie_and_sets_the_next(app: TestApp) -> None:
    first = set_by(await sign_in(app))
    answer = await ask(app, "POST", "/refresh", first, {})
    assert answer.status_code == 200
    assert set_by(answer) != first
    assert "refreshToken" not in answer.json()["data"]
    assert await works(app, answer.json()["data"]["token"])
    # the successor is what the public endpoint would have answered, and the first is used up
    app.clock.move(timedelta(minutes=5))
    assert (await ask(app, "POST", "/refresh", first, {})).json()["errorCode"] == "TOKEN_INVALID"


async def test_a_tab_chooses_its_tenant_by_refreshing(app: TestApp) -> None:
    tenants = (await app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    other = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "other")
    cookie = set_by(await sign_in(app, ADMIN))
    answer = await ask(app, "POST", "/refresh", cookie, {"tenantId": other})
    token = answer.json()["data"]["token"]
    current = await app.client.get("/api/tenants/current", headers={"Authorization": f"Bearer {token}"})
    assert current.json()["data"]["id"] == other


async def test_signing_out_ends_this_session_and_no_other(app: TestApp) -> None:
    one_tab, elsewhere = await sign_in(app), await sign_in(app)
    answer = await ask(app, "DELETE", "", set_by(one_tab))
    assert (answer.status_code, set_by(answer)) == (200, "")
    assert "Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure" in answer.headers["Set-Cookie"]
    assert not await works(app, one_tab.json()["data"]["token"])
    assert await works(app, elsewhere.json()["data"]["token"])
    assert (await ask(app, "POST", "/refresh", set_by(one_tab), {})).status_code == 401
    assert (await ask(app, "DELETE", "", set_by(one_tab))).status_code == 200
    events = await app.call("GET", "/api/audit-events?action=session.ended", as_whom="acme")
    assert events.json()["data"]["totalCount"] == 1


async def test_reauthentication_continues_the_session_and_its_cookie(app: TestApp) -> None:
    signed_in = await sign_in(app)
    token = signed_in.json()["data"]["token"]
    headers = OURS | {"Authorization": f"Bearer {token}"}
    body = {"password": PASSWORD, "isPasswordEncrypted": False}
    answer = await app.client.post("/console/session/reauthenticate", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert "refreshToken" not in answer.json()["data"]
    assert (await ask(app, "POST", "/refresh", set_by(answer), {})).status_code == 200
    nobody = await app.client.post("/console/session/reauthenticate", json=body, headers=OURS)
    assert nobody.status_code == 401


@pytest.mark.parametrize(("method", "path"), [("POST", "/refresh"), ("DELETE", "")])
async def test_a_session_request_without_a_cookie_is_unauthorized(app: TestApp, method: str, path: str) -> None:
    answer = await ask(app, method, path, None, {} if method == "POST" else None)
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize("cookie", ["nonsense", "a.b.c", "%00", "x" * 5_000])
async def test_a_cookie_of_nothing_opens_nothing(app: TestApp, cookie: str) -> None:
    assert (await ask(app, "POST", "/refresh", cookie, {})).json()["errorCode"] == "TOKEN_INVALID"
    assert (await ask(app, "DELETE", "", cookie)).status_code == 200


async def test_errors_are_those_of_the_public_endpoint(app: TestApp) -> None:
    wrong = await sign_in(app, password="wrong, and long enough")
    assert (wrong.status_code, wrong.json()["errorCode"]) == (401, "INVALID_CREDENTIALS")
    assert "Set-Cookie" not in wrong.headers
    for way in ("magic", None, 1, ["password"]):
        answer = await sign_in(app, body={"with": way})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (400, "with")
    unknown = await sign_in(app, body={"remember": True})
    assert (unknown.status_code, unknown.json()["errors"][0]["field"]) == (400, "remember")


async def test_attempts_count_with_those_of_the_public_login() -> None:
    app = await open_test_app(console=HTTPS)
    await app.login("root", ADMIN)
    seen = [(await sign_in(app, "nobody@example.com")).headers["X-RateLimit-Remaining"] for _ in range(2)]
    body = {"email": "nobody@example.com", "password": "x", "isPasswordEncrypted": False}
    seen.append((await app.call("POST", "/api/auth/login", json=body)).headers["X-RateLimit-Remaining"])
    assert [int(seen[0]) - int(left) for left in seen] == [0, 1, 2]
    await app.client.aclose()


async def test_an_account_made_by_an_invitation_is_signed_in(app: TestApp) -> None:
    invited = await app.call("POST", "/api/invitations", as_whom="acme", json={"email": "new@acme.example"})
    assert invited.status_code == 201, invited.text
    mailer = app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    await app.services.relay.deliver()
    token = link_in(mailer.sent[-1]).partition("#token=")[2]
    body = {"with": "invitation", "token": token, "fullName": "New", "password": "a password of my own"}
    answer = await app.call("POST", "/console/session", json=body, headers=OURS)
    assert answer.status_code == 200, answer.text
    assert "refreshToken" not in answer.json()["data"]
    assert (await ask(app, "POST", "/refresh", set_by(answer), {})).status_code == 200
    again = await app.call("POST", "/console/session", json=body, headers=OURS)
    assert (again.status_code, again.json()["errors"][0]["field"]) == (400, "token")
