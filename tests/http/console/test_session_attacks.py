"""Pages of other origins, and what they try with a browser that is signed in to the console."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio

from adapters.http.console.same_origin import origin_of
from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import read_settings
from tests.http.app import ADMIN, PASSWORD, SETTINGS, TestApp, open_test_app
from tests.http.console.placeholder import HTTPS

FORM = {"with": "password", "email": ADMIN, "password": PASSWORD, "isPasswordEncrypted": False}
JSON = {"Content-Type": "application/json"}
OWN = {"Sec-Fetch-Site": "same-origin", "Origin": "https://id.example", "X-Console": "1", **JSON}
ROUTES: list[tuple[str, str, object]] = [
    ("POST", "/console/session", FORM),
    ("POST", "/console/session/refresh", {}),
    ("POST", "/console/session/reauthenticate", {"password": PASSWORD, "isPasswordEncrypted": False}),
    ("DELETE", "/console/session", None),
]
FOREIGN = {
    "a page elsewhere": OWN | {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"},
    "a sibling of this host": OWN | {"Sec-Fetch-Site": "same-site", "Origin": "https://app.example"},
    "an address typed in": OWN | {"Sec-Fetch-Site": "none", "Origin": "null"},
    "an old browser elsewhere": {"Origin": "https://evil.example", "X-Console": "1", **JSON},
    "this host by another scheme": {"Origin": "http://id.example", "X-Console": "1", **JSON},
    "this host at another port": {"Origin": "https://id.example:8443", "X-Console": "1", **JSON},
    "a host that begins like this one": {"Origin": "https://id.example.evil.example", "X-Console": "1", **JSON},
    "a sandboxed frame": {"Origin": "null", "X-Console": "1", **JSON},
    "a program that says nothing": {"X-Console": "1", **JSON},
    "without the console's header": {name: value for name, value in OWN.items() if name != "X-Console"},
    "with another value of it": OWN | {"X-Console": "true"},
    "a form": OWN | {"Content-Type": "application/x-www-form-urlencoded"},
    "a form that looks like JSON": OWN | {"Content-Type": "text/plain"},
    "JSON of another charset": OWN | {"Content-Type": "application/json; charset=utf-16"},
    "JSON's sibling": OWN | {"Content-Type": "application/problem+json"},
}


@pytest_asyncio.fixture(scope="module")
async def app() -> AsyncIterator[TestApp]:
    cors = http_settings(read_settings({**SETTINGS, "TENANTRY_CORS_ORIGINS": "*"})).cors
    opened = await open_test_app(console=HTTPS, cors=cors, counts_limits=False)
    data = (await opened.client.post("/console/session", json=FORM, headers=OWN)).json()["data"]
    opened.tokens["root"] = data["token"]
    yield opened
    await opened.client.aclose()


async def tried(app: TestApp, method: str, path: str, body: object, headers: dict[str, str]) -> httpx.Response:
    """The request with everything that a browser or its user's script could have: the cookie and a token."""
    answer = await app.client.post("/console/session", json=FORM, headers=OWN)
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    app.client.cookies.clear()
    given = {**headers, "Cookie": cookie, "Authorization": f"Bearer {app.tokens['root']}"}
    content: Any = {} if body is None else {"json": body}
    return await app.client.request(method, path, headers=given, **content)


@pytest.mark.promise("console, attacks: Signing in, refreshing and signing out from another origin")
@pytest.mark.promise(
    "security, console: a page of another origin, a form and a sibling host can neither sign in nor use, use up or end "
    "a session"
)
@pytest.mark.parametrize("who", FOREIGN)
async def test_other_pages_get_403_on_every_route_and_change_nothing(app: TestApp, who: str) -> None:
    for method, path, body in ROUTES:
        answer = await tried(app, method, path, body, FOREIGN[who])
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "FORBIDDEN"), (method, path)
        assert "Set-Cookie" not in answer.headers
    me = await app.client.get("/api/auth/me/complete", headers={"Authorization": f"Bearer {app.tokens['root']}"})
    assert me.status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "same-origin", "X-Console": "1", **JSON},
        {"Origin": "https://id.example", "X-Console": "1", **JSON},
        OWN | {"Content-Type": "application/json; charset=UTF-8"},
    ],
)
async def test_requests_of_the_console_are_accepted(app: TestApp, headers: dict[str, str]) -> None:
    assert (await tried(app, *ROUTES[0], headers)).status_code == 200
    assert (await tried(app, *ROUTES[1], headers)).status_code == 200
    assert (await tried(app, *ROUTES[3], headers)).status_code == 200


@pytest.mark.promise("console, attacks: Signing in, refreshing and signing out from another origin")
@pytest.mark.promise(
    "security, console: a page of another origin, a form and a sibling host can neither sign in nor use, use up or end "
    "a session"
)
async def test_signing_in_by_a_plain_form_of_another_page_is_refused(app: TestApp) -> None:
    """Login CSRF: the victim would work in the account of the attacker."""
    headers = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    answer = await app.client.post("/console/session", data=FORM, headers=headers)
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (403, False)


@pytest.mark.promise(
    "security, console: a page of another origin, a form and a sibling host can neither sign in nor use, use up or end "
    "a session"
)
@pytest.mark.parametrize("path", ["/console/session", "/console/session/refresh"])
async def test_no_page_of_another_origin_is_allowed_the_header(app: TestApp, path: str) -> None:
    asked = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-console",
    }
    answer = await app.client.options(path, headers=asked)
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer.headers


@pytest.mark.promise("console, attacks: the cookie in an answer, the token in an address, in storage or in a log")
@pytest.mark.promise(
    "security, console: the refresh token of the console is in no answer, and its cookie is for this host and no script"
)
async def test_no_answer_of_the_api_shows_the_cookie(app: TestApp) -> None:
    cookie = (await app.client.post("/console/session", json=FORM, headers=OWN)).headers["Set-Cookie"]
    value = cookie.partition(";")[0].partition("=")[2]
    app.client.cookies.clear()
    headers = {"Authorization": f"Bearer {app.tokens['root']}", "Cookie": f"__Host-tenantry={value}"}
    for path in ("/api/auth/me", "/api/auth/me/complete", "/api/auth/sessions", "/api/entities", "/api/audit-events"):
        answer = await app.client.get(path, headers=headers)
        assert answer.status_code == 200, path
        assert value not in answer.text


@pytest.mark.promise("security, console: the cookie alone opens nothing of the API")
async def test_the_cookie_without_a_token_opens_nothing_of_the_api(app: TestApp) -> None:
    cookie = (await app.client.post("/console/session", json=FORM, headers=OWN)).headers["Set-Cookie"]
    app.client.cookies.clear()
    kept = {"Cookie": cookie.partition(";")[0]}
    for method, path in (("GET", "/api/auth/me"), ("GET", "/api/users"), ("POST", "/api/auth/logout")):
        assert (await app.client.request(method, path, headers=kept)).status_code == 401


@pytest.mark.promise("console, attacks: the cookie in an answer, the token in an address, in storage or in a log")
async def test_no_log_line_has_the_cookie_the_token_or_the_password(
    app: TestApp, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        signed_in = await app.client.post("/console/session", json=FORM, headers=OWN)
        cookie = signed_in.headers["Set-Cookie"].partition(";")[0]
        app.client.cookies.clear()
        await app.client.post("/console/session/refresh", json={}, headers=OWN | {"Cookie": cookie})
    lines = [str(vars(line)) for line in caplog.records if line.name.startswith(("adapters", "application"))]
    assert len(lines) >= 2
    for secret in (cookie.partition("=")[2], signed_in.json()["data"]["token"], PASSWORD):
        assert not any(secret in line for line in lines)


@pytest.mark.promise("console, attacks: an address to go on to after the sign-in")
@pytest.mark.promise("security, console: no address of the service leads a browser elsewhere")
@pytest.mark.parametrize(
    "path", ["/?next=https://evil.example", "//evil.example", "/console?next=//evil.example", "/console//evil.example"]
)
async def test_no_address_leads_a_browser_elsewhere(app: TestApp, path: str) -> None:
    browser = {"Accept": "text/html"}
    url = httpx.URL("http://localhost").copy_with(raw_path=path.encode())
    answer = await app.client.request("GET", url, headers=browser)
    assert answer.headers.get("Location", "/console") == "/console"
    assert answer.status_code in (200, 302, 404)


@pytest.mark.parametrize("path", ["/console/session", "/console/session/refresh"])
async def test_a_session_route_is_not_served_as_a_page(app: TestApp, path: str) -> None:
    answer = await app.client.get(path, headers={"Accept": "text/html"})
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (405, False)


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        ("https://id.example", "https://id.example"),
        ("https://id.example:443/sub/path", "https://id.example"),
        ("http://ID.example:80", "http://id.example"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_an_origin_is_compared_as_browsers_write_it(base_url: str, origin: str) -> None:
    assert origin_of(base_url) == origin
