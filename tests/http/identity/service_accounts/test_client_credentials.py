"""Client credentials: the requests of OAuth libraries, and the errors that those understand."""

import base64
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest
import pytest_asyncio

from application.identity.service_accounts.client_credentials import TokenRequest
from domain.errors import RateLimited
from domain.scope import Client
from tests.http.app import ADMIN, Json, TestApp, open_test_app
from tests.http.identity.service_accounts.service_accounts import by, code_of, make_account, make_key
from tests.http.identity.service_accounts.test_service_accounts import ACCOUNTS, audited, clock_of
from tests.http.two_tenants import TwoTenants

TOKEN = "/api/auth/token"
GRANT = {"grant_type": "client_credentials"}


class Robot:
    """A service account with a key, and the two ways in which libraries send them."""

    def __init__(self, tenants: TwoTenants, account: Json, key: Json) -> None:
        self.tenants, self.account, self.key = tenants, account, key

    @property
    def secrets(self) -> dict[str, str]:
        return {"client_id": self.account["id"], "client_secret": self.key["key"]}

    def basic(self, client_id: str | None = None, secret: str | None = None) -> dict[str, str]:
        # RFC 6749, 2.3.1: both are percent-encoded first, as authlib does and httpx-oauth does not.
        text = f"{quote(client_id or self.account['id'])}:{quote(secret or self.key['key'], safe='')}"
        return {"Authorization": f"Basic {base64.b64encode(text.encode()).decode()}"}

    async def ask(self, form: Any = None, **more: Any) -> httpx.Response:
        given = {**GRANT, **self.secrets} if form is None else form
        return await self.tenants.app.client.post(TOKEN, data=given, **more)


@pytest_asyncio.fixture
async def robot(tenants: TwoTenants) -> AsyncIterator[Robot]:
    account = await make_account(tenants)
    yield Robot(tenants, account, await make_key(tenants, account, permissions=["read:*"]))


@pytest_asyncio.fixture
async def limited() -> AsyncIterator[TestApp]:
    """An application that counts limits."""
    app = await open_test_app()
    await app.login("root", ADMIN)
    yield app
    await app.client.aclose()


def error_of(answer: httpx.Response) -> tuple[int, str]:
    body = answer.json()
    assert body.keys() == {"error", "error_description"}
    return answer.status_code, body["error"]


@pytest.mark.promise("POST /api/auth/token: a token by form and by Basic")
@pytest.mark.promise(
    "keys, client credentials: Form and Basic, as OAuth libraries send them; a secret in header and body is refused"
)
async def test_a_token_is_given_by_form_and_by_basic(robot: Robot) -> None:
    by_form = await robot.ask()
    by_basic = await robot.ask(GRANT, headers=robot.basic())
    named_twice = await robot.ask({**GRANT, "client_id": robot.account["id"]}, headers=robot.basic())
    for answer in (by_form, by_basic, named_twice):
        assert answer.status_code == 200, answer.text
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert {name: body[name] for name in ("token_type", "expires_in", "scope")} == {
            "token_type": "Bearer",
            "expires_in": 3600,
            "scope": "read:*",
        }
        assert (await by(robot.tenants, body["access_token"])).status_code == 200
    assert (await audited(robot.tenants)).count("token.issued") == 3


@pytest.mark.promise(
    "keys, revocation of keys: a token of client credentials dies with its key and its account, and refreshes nothing"
)
async def test_the_token_is_an_ordinary_tenant_token_of_the_account(robot: Robot) -> None:
    token = (await robot.ask()).json()["access_token"]
    services, now = robot.tenants.app.services, clock_of(robot.tenants).now()
    claims = services.tokens.read(token, now)
    assert (str(claims.sub), str(claims.sid), claims.kind) == (robot.account["id"], robot.key["id"], "service")
    assert (claims.token_type, claims.email, claims.super_admin) == ("Tenant", "", False)
    assert str(claims.tenant_id) == robot.tenants.tenants["acme"]
    refreshed = await robot.tenants.app.client.post("/api/auth/refresh", json={"refreshToken": token})
    assert refreshed.status_code == 401
    switched = await robot.tenants.app.client.post(
        "/api/auth/switch-tenant",
        json={"tenantId": robot.tenants.tenants["acme"]},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert switched.status_code == 403


@pytest.mark.promise("keys, client credentials: a scope narrows and never widens")
async def test_a_scope_narrows_and_never_widens(robot: Robot) -> None:
    narrow = (await robot.ask({**GRANT, **robot.secrets, "scope": "read:products read:users read:products"})).json()
    assert narrow["scope"] == "read:products read:users"
    assert (await by(robot.tenants, narrow["access_token"], "/api/roles")).status_code == 403
    for wider in ("*", "update:products", "read:products update:products", "openid", "read:products  read:users"):
        answer = await robot.ask({**GRANT, **robot.secrets, "scope": wider})
        assert error_of(answer) == (400, "invalid_scope")


@pytest.mark.promise("keys, client credentials: errors are in RFC 6749's form, whatever refuses")
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"grant_type": "password"}, (400, "unsupported_grant_type")),
        ({"grant_type": ""}, (400, "invalid_request")),
        ({"client_secret": "tnt_wrong"}, (401, "invalid_client")),
        ({"client_secret": "password"}, (401, "invalid_client")),
        ({"client_id": "01900000-0000-7000-8000-000000000000"}, (401, "invalid_client")),
        ({"client_id": ""}, (401, "invalid_client")),
        ({"client_secret": "\0"}, (400, "invalid_request")),
    ],
)
async def test_errors_are_those_of_the_rfc(robot: Robot, change: dict[str, str], expected: tuple[int, str]) -> None:
    answer = await robot.ask({**GRANT, **robot.secrets, **change})
    assert error_of(answer) == expected
    assert ("www-authenticate" in answer.headers) is (expected[0] == 401)


@pytest.mark.promise("keys, client credentials: errors are in RFC 6749's form, whatever refuses")
async def test_a_body_that_is_not_a_form_is_refused_in_the_form_of_the_rfc(robot: Robot) -> None:
    client = robot.tenants.app.client
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert error_of(await client.post(TOKEN, json={**GRANT, **robot.secrets})) == (400, "invalid_request")
    for body in (b"grant_type=a&grant_type=a", b"\xff=1", b"&".join(b"a%d=1" % at for at in range(30))):
        assert error_of(await client.post(TOKEN, content=body, headers=form)) == (400, "invalid_request")
    large = await client.post(TOKEN, content=b"a=" + b"b" * 20_000, headers=form)
    assert error_of(large) == (413, "invalid_request")
    assert error_of(await client.post(TOKEN, headers=form)) == (401, "invalid_client")


@pytest.mark.promise(
    "keys, client credentials: Form and Basic, as OAuth libraries send them; a secret in header and body is refused"
)
async def test_a_client_secret_is_accepted_in_header_or_body_but_not_in_both(robot: Robot) -> None:
    assert error_of(await robot.ask(headers=robot.basic())) == (400, "invalid_request")
    other = {**GRANT, "client_id": "another"}
    assert error_of(await robot.ask(other, headers=robot.basic())) == (400, "invalid_request")
    for wrong in ("Basic x", "Basic ", "Bearer abc", f"Basic {base64.b64encode(b'nocolon').decode()}"):
        assert error_of(await robot.ask(GRANT, headers={"Authorization": wrong})) == (401, "invalid_client")


@pytest.mark.promise(
    "keys, revocation of keys: a token of client credentials dies with its key and its account, and refreshes nothing"
)
async def test_the_token_dies_with_its_key_and_with_its_account(robot: Robot) -> None:
    tenants, path = robot.tenants, f"{ACCOUNTS}/{robot.account['id']}"
    token = (await robot.ask()).json()["access_token"]
    assert (await by(tenants, token)).status_code == 200
    # A rotated key tells its tokens of its end: they are asked for again.
    rotated = await tenants.call("admin", "POST", f"{path}/keys/{robot.key['id']}/rotate", {"overlapMinutes": 5})
    assert code_of(await by(tenants, token, "/api/auth/me")) == "TOKEN_EXPIRED"
    answer = (await robot.ask()).json()
    assert answer["expires_in"] == 5 * 60 - 5
    clock_of(tenants).move(timedelta(minutes=5) - timedelta.resolution)
    assert (await by(tenants, answer["access_token"])).status_code == 200
    clock_of(tenants).move(timedelta.resolution)
    assert (await by(tenants, answer["access_token"])).status_code == 401
    assert error_of(await robot.ask()) == (401, "invalid_client")
    robot.key = rotated.json()["data"]
    token = (await robot.ask()).json()["access_token"]
    assert (await tenants.call("admin", "DELETE", f"{path}/keys/{robot.key['id']}")).status_code == 200
    assert code_of(await by(tenants, token, "/api/auth/me")) == "TOKEN_INVALID"
    robot.key = await make_key(tenants, robot.account)
    token = (await robot.ask()).json()["access_token"]
    # Another name makes tokens stale, and revokes nothing.
    assert (await tenants.call("admin", "PUT", path, {"name": "Renamed"})).status_code == 200
    assert code_of(await by(tenants, token, "/api/auth/me")) == "TOKEN_EXPIRED"
    token = (await robot.ask()).json()["access_token"]
    assert (await tenants.call("admin", "PUT", path, {"isActive": False})).status_code == 200
    assert code_of(await by(tenants, token, "/api/auth/me")) == "TOKEN_INVALID"
    assert error_of(await robot.ask()) == (401, "invalid_client")


async def test_a_key_that_is_refused_here_gets_no_token(robot: Robot) -> None:
    robot.key = await make_key(robot.tenants, robot.account, networks=["192.0.2.0/24"])
    assert error_of(await robot.ask()) == (401, "invalid_client")


async def test_a_token_shows_rights_as_they_are_now(robot: Robot) -> None:
    assert (await robot.ask()).json()["scope"] == "read:*"
    path = f"{ACCOUNTS}/{robot.account['id']}"
    assert (await robot.tenants.call("admin", "PUT", path, {"roles": ["Reader"]})).status_code == 200
    assert (await robot.ask()).json()["scope"] == "read:products"


@pytest.mark.promise("keys, client credentials: Libraries find the endpoint by the metadata of RFC 8414")
async def test_libraries_find_the_endpoint_by_the_metadata(robot: Robot) -> None:
    answer = await robot.tenants.app.client.get("/.well-known/oauth-authorization-server")
    metadata = answer.json()
    assert metadata == {
        "issuer": "http://127.0.0.1:8000",
        "token_endpoint": "http://127.0.0.1:8000/api/auth/token",
        "jwks_uri": "http://127.0.0.1:8000/.well-known/jwks.json",
        "grant_types_supported": ["client_credentials"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "response_types_supported": [],
    }
    claims = robot.tenants.app.services.tokens.read(
        (await robot.ask()).json()["access_token"], clock_of(robot.tenants).now()
    )
    assert claims.iss == metadata["issuer"]


@pytest.mark.promise("keys, client credentials: errors are in RFC 6749's form, whatever refuses")
async def test_tokens_of_an_account_are_limited_and_the_refusal_is_in_the_rfcs_form(limited: TestApp) -> None:
    made = await limited.call("POST", ACCOUNTS, as_whom="root", json={"name": "R", "roles": ["Admin"]})
    account = made.json()["data"]["id"]
    made = await limited.call("POST", f"{ACCOUNTS}/{account}/keys", as_whom="root", json={"name": "k"})
    form = {**GRANT, "client_id": account, "client_secret": made.json()["data"]["key"]}
    answers = [await limited.client.post(TOKEN, data=form) for _ in range(61)]
    assert [answer.status_code for answer in answers] == [200] * 60 + [429]
    assert error_of(answers[-1]) == (429, "slow_down")
    assert answers[-1].headers["retry-after"] == "60"
    # From another address the account's own share is used up as well.
    from_elsewhere = Client(address="192.0.2.9", network="192.0.2.9")
    request = TokenRequest(
        grant_type="client_credentials", client_id=account, client_secret=form["client_secret"], scope=None
    )
    with pytest.raises(RateLimited):
        await limited.services.client_credentials.token(request, from_elsewhere)


async def test_a_token_with_too_many_role_names_is_refused(robot: Robot) -> None:
    """A request reads so much of a header at most: the names of roles count as the permissions do."""
    names = [f"{number:03} {'x' * 40}" for number in range(60)]
    for name in names:
        await robot.tenants.make_role(name, "acme", ["read:*"])
    path = f"{ACCOUNTS}/{robot.account['id']}"
    assert (await robot.tenants.call("admin", "PUT", path, {"roles": names})).status_code == 200
    for count, expected in ((50, 200), (300, 400)):
        scope = " ".join(["read:products", *(f"read:entity-{number:04}" for number in range(count))])
        answer = await robot.ask({**GRANT, **robot.secrets, "scope": scope})
        assert answer.status_code == expected, answer.text
        if expected == 200:
            assert (await by(robot.tenants, answer.json()["access_token"])).status_code == 200
        else:
            assert error_of(answer) == (400, "invalid_scope")
