"""Ways to sign in, one request a row: social logins, encrypted passwords, applications."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, NamedTuple
from uuid import UUID

import httpx
import pytest

from adapters.http.app import HttpSettings
from application.ports.entities.records import Act, NewRow
from domain.scope import EveryTenant
from entrypoints.assembly.social import social_providers
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from tests.http.app import ADMIN, PASSWORD, SETTINGS, Json, TestApp, client_of
from tests.servers.fake_provider import FakeProvider, Said, fake_provider

EMAIL = "ada@example.com"
UNKNOWN = "01900000-0000-7000-8000-000000000000"
GOOGLE: Json = {"sub": "1", "aud": "ours", "azp": "ours", "email": EMAIL, "email_verified": "true"}


@pytest.fixture
async def provider() -> AsyncIterator[FakeProvider]:
    async with fake_provider() as opened:
        opened.replies = {"/tokeninfo": Said(body=GOOGLE), "/userinfo": Said(body={"sub": "1", "name": "Ada"})}
        yield opened


@pytest.fixture
async def social(app: TestApp, provider: FakeProvider) -> AsyncIterator[TestApp]:
    """The application with ``google`` turned on, which answers on this machine."""
    ours = {"TENANTRY_SOCIAL_GOOGLE_CLIENT_ID": "ours", "TENANTRY_SOCIAL_GOOGLE_BASE_URL": provider.url}
    settings = read_settings({**SETTINGS, **ours})
    providers = social_providers(settings, app.adapters.clock)
    adapters = replace(app.adapters, social=providers)
    services = assemble(adapters, settings)
    yield TestApp(client_of(services, HttpSettings()), services, adapters, app.tokens)
    await providers.close()


def shown(**more: object) -> Json:
    return {"provider": "google", "accessToken": "a-token", **more}


class Row(NamedTuple):
    name: str
    body: object
    said: Said
    status: int
    code: str | None


WELL = Said(body=GOOGLE)
SOCIAL = [
    Row("login", shown(), WELL, 200, None),
    Row("any case", shown(provider="Google"), WELL, 200, None),
    Row("as an application", shown(requestedAppId="shop"), WELL, 200, None),
    Row("unknown provider", shown(provider="myspace"), WELL, 400, "VALIDATION_ERROR"),
    Row("not turned on", shown(provider="github"), WELL, 400, "VALIDATION_ERROR"),
    Row("no provider", {"accessToken": "x"}, WELL, 400, "VALIDATION_ERROR"),
    Row("no token", {"provider": "google"}, WELL, 400, "VALIDATION_ERROR"),
    Row("unknown field", shown(admin=True), WELL, 400, "VALIDATION_ERROR"),
    Row("no tenant id", shown(preferredTenantId="x"), WELL, 400, "VALIDATION_ERROR"),
    Row("a tenant one is not in", shown(preferredTenantId=UNKNOWN), WELL, 403, "FORBIDDEN"),
    Row("refused token", shown(), Said(400, {"error": "invalid_token"}), 401, "INVALID_CREDENTIALS"),
    Row("another audience", shown(), Said(body=GOOGLE | {"aud": "theirs"}), 401, "INVALID_CREDENTIALS"),
    Row("taken, unverified", shown(), Said(body=GOOGLE | {"email": ADMIN, "email_verified": "false"}), 401,
        "INVALID_CREDENTIALS"),
    Row("new, unverified", shown(), Said(body=GOOGLE | {"email_verified": False}), 401, "EMAIL_NOT_CONFIRMED"),
    Row("provider broken", shown(), Said(500), 503, "SERVICE_UNAVAILABLE"),
    Row("provider redirects", shown(), Said(302, {}, {"Location": "/x"}), 503, "SERVICE_UNAVAILABLE"),
    Row("provider floods", shown(), Said(megabytes=10), 503, "SERVICE_UNAVAILABLE"),
]  # fmt: skip


@pytest.mark.promise("POST /api/auth/social-login")
@pytest.mark.promise("identity, social login: unknown provider 400, refused token 401, provider away 503")
@pytest.mark.parametrize("row", SOCIAL, ids=lambda row: row.name)
async def test_each_social_login_gets_its_status_and_code(social: TestApp, provider: FakeProvider, row: Row) -> None:
    provider.replies["/tokeninfo"] = row.said
    answer = await social.call("POST", "/api/auth/social-login", json=row.body)
    assert answer.status_code == row.status, answer.text
    said = answer.json()
    assert said["isSuccess"] is (row.code is None)
    assert said.get("errorCode") == row.code
    assert ("Retry-After" in answer.headers) is (row.status == 503)
    assert "X-RateLimit-Limit" in answer.headers


@pytest.mark.promise("POST /api/auth/social-login")
async def test_a_social_login_answers_as_login_does(social: TestApp) -> None:
    entered = (await social.call("POST", "/api/auth/social-login", json=shown())).json()["data"]
    logged_in = (await social.call("POST", "/api/auth/login", json=login())).json()["data"]
    assert entered.keys() == logged_in.keys()
    assert (entered["isGlobal"], entered["requiresTenantSelection"], entered["isFirstLogin"]) == (True, False, True)
    refreshed = await social.call("POST", "/api/auth/refresh", json={"refreshToken": entered["refreshToken"]})
    assert refreshed.status_code == 200


@pytest.mark.promise("identity, every response: Responses with tokens are not cached")
async def test_a_social_login_stays_out_of_caches(social: TestApp) -> None:
    answer = await social.call("POST", "/api/auth/social-login", json=shown())
    assert answer.headers["Cache-Control"] == "no-store"


def login(**more: object) -> Json:
    return {"email": ADMIN, "password": PASSWORD, "isPasswordEncrypted": False, **more}


@pytest.mark.promise(
    "identity, encrypted passwords: isPasswordEncrypted: true with anything but a JWE: VALIDATION_ERROR on password"
)
async def test_a_plain_password_is_refused_where_an_encrypted_one_was_announced(app: TestApp) -> None:
    answers = [
        await app.call("POST", "/api/auth/login", json=login(isPasswordEncrypted=True, email=email))
        for email in (ADMIN, "nobody@example.com")
    ]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert answers[0].json() == answers[1].json()
    (error,) = answers[0].json()["errors"]
    assert error["field"] == "password"
    assert "JWE" in error["message"]


@pytest.mark.promise("identity, fields: isPasswordEncrypted: true, false, left out")
async def test_the_flag_for_encryption_may_be_omitted_and_must_not_be_null(app: TestApp) -> None:
    body = login()
    del body["isPasswordEncrypted"]
    assert (await app.call("POST", "/api/auth/login", json=body)).status_code == 200
    assert (await app.call("POST", "/api/auth/login", json=login(isPasswordEncrypted=None))).status_code == 400


@pytest.mark.promise(
    "identity, tokens and keys: /.well-known/jwks.json publishes the public keys that are needed, and no secrets"
)
async def test_the_encryption_keys_are_published_with_the_signing_keys(app: TestApp) -> None:
    keys = (await app.call("GET", "/.well-known/jwks.json")).json()["keys"]
    assert [(key["use"], key["alg"]) for key in keys] == [
        ("sig", "EdDSA"),
        ("enc", "RSA-OAEP-256"),
        ("enc", "ECDH-ES+A256KW"),
    ]


async def register_app(app: TestApp, **values: object) -> str:
    body: Json = {"appId": "shop", "name": "Shop", **values}
    answer = await app.call("POST", "/api/applications", as_whom="root", json=body)
    assert answer.status_code == 201, answer.text
    return answer.headers["Location"]


async def ask(app: TestApp, header: str | None, **body: object) -> httpx.Response:
    headers: Any = {} if header is None else {"X-App-Id": header}
    whom = login(email="reader@acme.example", **body)
    return await app.call("POST", "/api/auth/login", json=whom, headers=headers)


@pytest.mark.promise("identity, fields: requestedAppId is taken from X-App-Id")
@pytest.mark.promise(
    "identity, applications: the header takes precedence over the body; unregistered applications where registration "
    "is required"
)
async def test_the_header_beats_the_body(app: TestApp) -> None:
    location = await register_app(app)
    assert (await ask(app, "shop")).status_code == 200
    await app.call("PUT", location, as_whom="root", json={"isActive": False})
    assert (await ask(app, "shop")).status_code == 403
    assert (await ask(app, "shop", requestedAppId="other")).status_code == 403
    assert (await ask(app, None, requestedAppId="shop")).status_code == 403
    assert (await ask(app, "other", requestedAppId="shop")).status_code == 200
    assert (await ask(app, "")).status_code == 200


@pytest.mark.parametrize("values", [{"allowedTenantIds": []}, {"requiredPermission": "sell:products"}])
async def test_an_application_that_excludes_the_caller_is_forbidden(app: TestApp, values: Json) -> None:
    await register_app(app, **values)
    answer = await ask(app, "shop")
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "FORBIDDEN")


@pytest.mark.parametrize("name", ["sell", "Sell:products", "sell:products\n", ""])
async def test_an_application_asks_for_a_permission_that_a_role_can_hold(app: TestApp, name: str) -> None:
    location = await register_app(app, requiredPermission="*:products")
    answer = await app.call("PUT", location, as_whom="root", json={"requiredPermission": name})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "UNPROCESSABLE_ENTITY")
    (detail,) = answer.json()["error"]["details"]
    assert detail["field"] == "requiredPermission"
    assert detail["message"].startswith("must be <action>:<resource>")


@pytest.mark.parametrize("app_id", ["\u00e4pp", "my app", " app", "app\n", "\u0430pp"])
async def test_a_new_application_has_an_id_that_the_header_can_name(app: TestApp, app_id: str) -> None:
    body = {"appId": app_id, "name": "Shop"}
    refused = await app.call("POST", "/api/applications", as_whom="root", json=body)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "UNPROCESSABLE_ENTITY")
    assert [detail["field"] for detail in refused.json()["error"]["details"]] == ["appId"]
    named = await app.call("POST", "/api/applications", as_whom="root", json={**body, "appId": "Shop/2~a"})
    assert named.status_code == 201
    assert (await ask(app, "Shop/2~a")).status_code == 200


async def test_an_application_with_an_id_of_before_is_named_in_the_body_and_changed(app: TestApp) -> None:
    made, adapters = UUID("01900000-0000-7000-8000-00000000000a"), app.adapters
    values: Json = {"app_id": "\u00e4pp", "name": "Shop", "is_active": True}
    values |= {"allowed_tenant_ids": None, "required_permission": None, "redirect_urls": None}
    async with adapters.database.transaction(EveryTenant()) as tx:
        act = Act(by=None, at=adapters.clock.now())
        await tx.records.add(adapters.registry["applications"], [NewRow(made, values)], act)
    assert (await ask(app, None, requestedAppId="\u00e4pp")).status_code == 200
    path = f"/api/applications/{made}"
    sent_back = {"appId": "\u00e4pp", "name": "Old shop", "isActive": False}
    changed = await app.call("PUT", path, as_whom="root", json=sent_back)
    assert (changed.status_code, changed.json()["data"]["appId"]) == (200, "\u00e4pp")
    assert (await ask(app, None, requestedAppId="\u00e4pp")).status_code == 403
    refused = await app.call("PUT", path, as_whom="root", json={"appId": "\u00e4pp2"})
    assert [detail["field"] for detail in refused.json()["error"]["details"]] == ["appId"]


async def test_an_application_id_that_could_not_be_registered_is_refused(app: TestApp) -> None:
    for answer in (await ask(app, "x" * 101), await ask(app, None, requestedAppId="x" * 101)):
        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["requestedAppId"]


async def test_the_password_is_asked_before_the_application(app: TestApp) -> None:
    await register_app(app, isActive=False)
    answer = await ask(app, "shop", password="wrong")
    assert (answer.status_code, answer.json()["errorCode"]) == (401, "INVALID_CREDENTIALS")


async def test_social_login_is_limited_as_other_endpoints_are(social: TestApp) -> None:
    answer = await social.call("POST", "/api/auth/social-login", json=shown())
    assert answer.headers["X-RateLimit-Limit"] == "100"
