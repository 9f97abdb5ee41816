"""`/console`: files with their policy, caching and codings; `/` leads browsers there, and programs nowhere.

Ways to sign in to the console beyond the password: second factors, setting one up, and passkeys.
"""

import gzip
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from litestar import get
from litestar.testing import TestClient

from adapters import console as built_console
from adapters.http.app import HttpSettings, build_app
from adapters.http.console.pages import Console
from adapters.http.request.rules import PUBLIC, UNLIMITED, rules
from entrypoints.assembly.http_settings import http_settings
from entrypoints.settings.settings import read_settings
from tests.http.app import PASSWORD, SETTINGS, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.console.placeholder import BROTLI, FILES, HTML, HTTPS, SCRIPT
from tests.http.identity.factors.factors import Person, ask_for_factors, move
from tests.http.identity.factors.steps import claims_of

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8", "Accept-Encoding": "identity"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


@pytest_asyncio.fixture
async def served() -> AsyncIterator[TestApp]:
    opened = await open_test_app(console=HTTPS)
    yield opened
    await opened.client.aclose()


async def raw(app: TestApp, path: str, headers: dict[str, str]) -> tuple[httpx.Response, bytes]:
    """The answer, and its body as it was sent, not decompressed."""
    request = app.client.build_request("GET", path, headers=headers)
    answer = await app.client.send(request, stream=True)
    return answer, b"".join([part async for part in answer.aiter_raw()])


@pytest.mark.parametrize("path", ["/console", "/console/", "/console/tenants/17", "/console/session/x"])
async def test_a_browser_gets_the_application_whatever_the_address(served: TestApp, path: str) -> None:
    answer = await served.call("GET", path, headers=BROWSER)
    assert (answer.status_code, answer.content) == (200, HTML)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=0, must-revalidate"


@pytest.mark.promise(
    "security, console: every file of the console has the policy, and no address leads out of the built files"
)
@pytest.mark.parametrize(
    "path",
    [
        "/console/tenants/17",
        "/console/app-00000000.js",
        "/console/app-4F2A91BC.js.br",
        "/console/../pyproject.toml",
        "/console/%2e%2e/%2e%2e/pyproject.toml",
        "/console/..%2f..%2fpyproject.toml",
        "/console/source/package.json",
    ],
)
async def test_programs_and_scripts_get_404_for_unknown_paths(served: TestApp, path: str) -> None:
    answer = await served.call("GET", path, headers={"Accept": "*/*"})
    assert answer.status_code == 404


@pytest.mark.promise("console, attacks: Breaches of the policy: each test of")
@pytest.mark.promise(
    "security, console: every file of the console has the policy, and no address leads out of the built files"
)
@pytest.mark.parametrize(
    "path", ["/console", "/console/app-4F2A91BC.js", "/console/somewhere", "/console/LICENCES.txt"]
)
async def test_every_file_has_the_policy(served: TestApp, path: str) -> None:
    answer = await served.call("GET", path, headers=BROWSER)
    assert answer.headers["Content-Security-Policy"] == POLICY
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_file_with_a_hashed_name_is_immutable_and_others_are_revalidated(served: TestApp) -> None:
    hashed = await served.call("GET", "/console/app-4F2A91BC.js", headers=BROWSER)
    assert hashed.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert hashed.headers["Content-Type"] == "text/javascript; charset=utf-8"
    page = await served.call("GET", "/console", headers=BROWSER)
    again = await served.call("GET", "/console", headers={**BROWSER, "If-None-Match": page.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [("gzip, deflate, br", "br"), ("gzip", "gzip"), ("br;q=0, gzip", "gzip"), ("identity", None), ("", None)],
)
async def test_a_file_compressed_at_build_is_sent_without_recompression(
    served: TestApp, accepted: str, coding: str | None
) -> None:
    answer, body = await raw(served, "/console/app-4F2A91BC.js", {"Accept-Encoding": accepted})
    assert answer.headers.get("Content-Encoding") == coding
    assert (body == BROTLI, body == SCRIPT) == (coding == "br", coding is None)
    assert answer.headers["Vary"] == "Accept-Encoding"
    assert answer.headers["Content-Length"] == str(len(body))


async def test_a_service_that_compresses_leaves_the_console_as_it_is(served: TestApp) -> None:
    settings = http_settings(read_settings({**SETTINGS, "TENANTRY_COMPRESSION": "gzip"}))
    app = build_app(served.services, HttpSettings(console=HTTPS, compression=settings.compression))
    with TestClient(app) as client:
        answer = client.get("/console/app-4F2A91BC.js", headers={"Accept-Encoding": "gzip"})
    assert answer.content == SCRIPT


async def test_the_front_leads_browsers_to_the_console_and_programs_nowhere(served: TestApp) -> None:
    browser = await served.call("GET", "/", headers=BROWSER)
    assert (browser.status_code, browser.headers["Location"]) == (302, "/console")
    program = await served.call("GET", "/")
    assert (program.status_code, program.json()["error"]["code"]) == (404, "NOT_FOUND")


async def test_without_a_console_the_front_leads_to_the_documentation(app: TestApp) -> None:
    browser = await app.call("GET", "/", headers=BROWSER)
    assert (browser.status_code, browser.headers["Location"]) == (302, "/docs/index.html")
    assert (await app.call("GET", "/console", headers=BROWSER)).status_code == 404
    assert http_settings(read_settings({**SETTINGS, "TENANTRY_CONSOLE": "off"})).console.is_on is False


async def test_a_project_may_serve_its_own_front_page(app: TestApp) -> None:
    @get("/", opt=rules(policy=PUBLIC, limit=UNLIMITED), sync_to_thread=False)
    def front() -> str:
        return "Welcome."

    with TestClient(build_app(app.services, HttpSettings(console=HTTPS, routes=(front,)))) as client:
        assert client.get("/", headers=BROWSER).text == "Welcome."


def test_build_metadata_of_the_console_is_not_served(tmp_path: Path) -> None:
    assert (built_console.files(tmp_path), built_console.is_built(tmp_path)) == ({}, False)
    (tmp_path / "built").mkdir()
    for name in ("index.html", "SHA256SUMS", "SOURCE", "app-4F2A91BC.js.br"):
        (tmp_path / "built" / name).write_bytes(name.encode())
    found = built_console.files(tmp_path / "built")
    assert found == {"index.html": b"index.html", "app-4F2A91BC.js.br": b"app-4F2A91BC.js.br"}
    assert built_console.is_built(tmp_path / "built")


def test_a_file_that_was_only_built_compressed_is_served_as_it_was_too(tmp_path: Path) -> None:
    packed = gzip.compress(b"start()")
    (tmp_path / "app-4F2A91BC.js.gz").write_bytes(packed)
    assert built_console.files(tmp_path) == {"app-4F2A91BC.js": b"start()", "app-4F2A91BC.js.gz": packed}


async def test_behind_a_path_the_page_names_its_files_below_it() -> None:
    page = b'<script src="/console/app-4F2A91BC.js"></script>'
    console = Console(files={**FILES, "index.html": page}, base_url="https://id.example/tools/tenantry")
    app = await open_test_app(console=console)
    answer = await app.call("GET", "/console", headers=BROWSER)
    assert answer.content == b'<script src="/tools/tenantry/console/app-4F2A91BC.js"></script>'
    assert (await app.call("GET", "/", headers=BROWSER)).headers["Location"] == "/tools/tenantry/console"
    await app.client.aclose()


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


async def test_a_passkey_signs_in_without_a_password(person: Person) -> None:
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
