"""One-time codes: a login on the service's own pages becomes the application's, with the result of a login.

Metrics of one-time codes, as the whole service serves them.

Links to the sign-in pages: what they must say, and what is shown to a wrong one.
"""

from datetime import timedelta
from urllib.parse import urlencode

import httpx
import pytest

from application.identity.hosted_login.login_codes import LIVES
from domain.identity.redirects import challenge_of
from tenantry.testing import ADMIN_EMAIL, ADMIN_PASSWORD, MemoryApp, open_app
from tests.http.app import PASSWORD, Json
from tests.http.identity.factors.factors import EMAIL, actions, move
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import (
    CHALLENGE,
    REDIRECT,
    VERIFIER,
    Shop,
    ensure_wrong_code,
    told_by,
)

BOTH = "both@acme.example"
NEW = "new@acme.example"


@pytest.mark.promise("POST /api/auth/code")
@pytest.mark.promise("sign-in pages, behaviour: a code becomes the result of a login")
async def test_a_code_becomes_the_result_of_a_login(shop: Shop) -> None:
    login = await shop.login()
    made = await shop.ask(login["token"])
    assert made.status_code == 200
    assert made.json()["data"].keys() == {"code", "expiresAt"}
    assert made.headers["Cache-Control"] == "no-store"
    answer = await shop.exchange(made.json()["data"]["code"])
    assert answer.status_code == 200, answer.text
    assert answer.headers["Cache-Control"] == "no-store"
    data = answer.json()["data"]
    assert data.keys() == login.keys()
    told = {name: value for name, value in data.items() if name not in ("token", "refreshToken", "expiresAt")}
    assert told == {name: login[name] for name in told}
    claims, before = claims_of(data["token"]), claims_of(login["token"])
    same = ("sub", "sid", "tenant_id", "permissions", "amr", "auth_time", "app_id")
    assert {name: claims[name] for name in same} == {name: before[name] for name in same}
    assert claims["app_id"] == "shop"
    assert (await shop.me(data["token"])).status_code == 200


@pytest.mark.promise("sign-in pages, behaviour: the page's refresh token is used up")
async def test_the_refresh_token_of_the_pages_is_used_up_by_the_exchange(shop: Shop) -> None:
    login = await shop.login()
    code = (await shop.ask(login["token"])).json()["data"]["code"]
    data = (await shop.exchange(code)).json()["data"]
    move(shop.app, timedelta(minutes=2))  # beyond the grace of a lost answer
    refused = await shop.refresh(login["refreshToken"])
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "TOKEN_INVALID")
    assert (await shop.refresh(data["refreshToken"])).status_code == 401, "used twice: the session has ended"


@pytest.mark.promise("sign-in pages, behaviour: the first login is told as the first")
async def test_only_the_first_login_is_reported_as_the_first(unlimited: Shop) -> None:
    shop = unlimited
    await shop.app.make_user("acme", NEW, ["Reader"])
    for expected in (True, False):
        data = (await shop.exchange(await shop.code(email=NEW))).json()["data"]
        assert data["isFirstLogin"] is expected
        assert data["mustChangePassword"] is True


@pytest.mark.promise("sign-in pages, behaviour: the chosen tenant goes along")
async def test_a_chosen_tenant_is_in_the_code_and_an_open_choice_is_left_to_the_application(unlimited: Shop) -> None:
    shop = unlimited
    user_id = await shop.app.make_user("acme", BOTH, ["Reader"])
    other = (await shop.app.call("GET", "/api/tenants/current", as_whom="other")).json()["data"]["id"]
    joined = await shop.app.call(
        "POST", f"/api/tenants/{other}/users", as_whom="root in other", json={"userId": user_id, "roles": []}
    )
    assert joined.status_code == 201
    login = await shop.login(email=BOTH)
    assert login["requiresTenantSelection"]
    code = (await shop.ask(login["token"])).json()["data"]["code"]
    data = (await shop.exchange(code)).json()["data"]
    assert (data["tokenType"], data["requiresTenantSelection"], data["currentTenant"]) == ("Global", True, None)
    assert [tenant["name"] for tenant in data["availableTenants"]] == ["Acme", "Other"]
    headers = {"Authorization": f"Bearer {(await shop.login(email=BOTH))['token']}"}
    body = {"tenantId": other}
    switched = await shop.app.call("POST", "/api/auth/switch-tenant", json=body, headers=headers)
    code = (await shop.ask(switched.json()["data"]["token"])).json()["data"]["code"]
    data = (await shop.exchange(code)).json()["data"]
    assert (data["currentTenant"]["id"], data["smartAutoSwitched"], "availableTenants" in data) == (other, False, False)


@pytest.mark.promise("POST /api/auth/codes")
@pytest.mark.promise("sign-in pages, attacks: an old access token that is made into a refresh token")
async def test_a_code_is_made_for_a_login_of_the_application_and_after_a_recent_proof(shop: Shop) -> None:
    for_none = await shop.login(app_id="")
    assert (await shop.ask(for_none["token"])).status_code == 403
    login = await shop.login()
    assert (await shop.app.call("POST", "/api/auth/codes", json=shop.asked)).status_code == 401
    move(shop.app, timedelta(minutes=11))
    late = await shop.ask(login["token"])
    assert (late.status_code, late.json()["errorCode"]) == (401, "REAUTHENTICATION_REQUIRED")


@pytest.mark.promise("POST /api/auth/codes")
@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"redirect": "https://shop.example/signed-in/"}, "redirect"),
        ({"redirect": ""}, "redirect"),
        ({"codeChallenge": ""}, "codeChallenge"),
        ({"codeChallenge": CHALLENGE + "="}, "codeChallenge"),
        ({"app": "shop"}, "app"),
    ],
)
async def test_what_a_code_is_asked_with_is_checked(shop: Shop, values: Json, field: str) -> None:
    answer = await shop.ask((await shop.login())["token"], **values)
    assert answer.status_code == 400
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.promise("sign-in pages, behaviour: Uses and refusals stand in the audit trail")
async def test_the_trail_names_each_use_and_each_refusal(shop: Shop) -> None:
    code = await shop.code()
    await shop.exchange(code, verifier="w" * 43)
    await shop.exchange(code)
    trail = await actions(shop.app)
    assert trail.index("code.exchanged") < trail.index("code.refused")


@pytest.mark.promise("sign-in pages, behaviour: a code lives for a minute")
async def test_a_code_lives_for_a_minute(unlimited: Shop) -> None:
    shop = unlimited
    for late, status in ((timedelta(0), 400), (-timedelta.resolution, 200)):
        code = await shop.code()
        move(shop.app, LIVES + late)
        assert (await shop.exchange(code)).status_code == status


@pytest.mark.promise("sign-in pages, behaviour: Addresses are checked when they are registered, by super-admins alone")
async def test_addresses_are_checked_when_they_are_registered(shop: Shop) -> None:
    for wrong in ("http://shop.example/in", "https://shop.example/in#x", "https://me@shop.example/", "shop:in"):
        answer = await shop.app.call("PUT", shop.location, as_whom="root", json={"redirectUrls": [REDIRECT, wrong]})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "UNPROCESSABLE_ENTITY")
        assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["redirectUrls[1]"]
    many = [f"https://shop.example/{number}" for number in range(21)]
    answer = await shop.app.call("PUT", shop.location, as_whom="root", json={"redirectUrls": many})
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["redirectUrls"]
    await shop.change(redirectUrls=many[:20])
    stored = (await shop.app.call("GET", shop.location, as_whom="root")).json()["data"]
    assert stored["redirectUrls"] == many[:20]


@pytest.mark.promise("sign-in pages, behaviour: Addresses are checked when they are registered, by super-admins alone")
async def test_only_super_admins_register_addresses(shop: Shop) -> None:
    for whom in ("acme", "reader"):
        answer = await shop.app.call(
            "PUT", shop.location, as_whom=whom, json={"redirectUrls": ["https://evil.example"]}
        )
        assert answer.status_code == 403


async def test_a_login_without_redirect_yields_no_code(shop: Shop) -> None:
    body = {"email": EMAIL, "password": PASSWORD, "isPasswordEncrypted": False}
    assert (await shop.app.call("POST", "/api/auth/login", json=body)).status_code == 200
    ensure_wrong_code(await shop.exchange("x.y.z"))


async def counted(app: MemoryApp) -> dict[str, float]:
    lines = (await app.client.get("/metrics")).text.splitlines()
    found = [line for line in lines if line.startswith("tenantry_login_codes_total{")]
    return {line.split('"')[1]: float(line.split()[-1]) for line in found}


async def code_of(app: MemoryApp) -> str:
    body = {"email": ADMIN_EMAIL, "password": ADMIN_PASSWORD}
    login = await app.client.post("/api/auth/login", json=body, headers={"X-App-Id": "shop"})
    headers = {"Authorization": f"Bearer {login.json()['data']['token']}"}
    asked = {"redirect": REDIRECT, "codeChallenge": challenge_of(VERIFIER)}
    made = await app.client.post("/api/auth/codes", json=asked, headers=headers)
    assert made.status_code == 200, made.text
    code: str = made.json()["data"]["code"]
    return code


async def test_the_metrics_count_codes_that_were_made_used_and_refused() -> None:
    async with open_app() as app:
        shop = {"appId": "shop", "name": "The shop", "redirectUrls": [REDIRECT]}
        made = await app.client.post("/api/applications", json=shop, headers=await app.login())
        assert made.status_code == 201, made.text

        async def exchange(code: str, verifier: str = VERIFIER) -> int:
            body = {"code": code, "codeVerifier": verifier}
            return (await app.client.post("/api/auth/code", json=body)).status_code

        assert await counted(app) == {}
        first, second = await code_of(app), await code_of(app)
        assert await exchange(first, "v" * 50) == 400
        assert await exchange("no code") == 400
        assert await exchange(second) == 200
        assert await exchange(second) == 400
        assert await counted(app) == {"issued": 2, "redeemed": 1, "refused": 3}


RIGHT = {"app": "shop", "redirect": REDIRECT, "state": "x", "code_challenge": CHALLENGE}
WRONG: list[dict[str, str | None]] = [
    {"app": "unknown"},
    {"app": "SHOP"},
    {"app": ""},
    {"app": None},
    {"redirect": REDIRECT + "/"},
    {"redirect": ""},
    {"redirect": None},
    {"redirect": "javascript:alert(1)"},
    {"code_challenge": None},
    {"code_challenge": "short"},
    {"code_challenge_method": "plain"},
    {"state": "x" * 1_001},
    {"state": "a\r\nb"},
]


def query(values: dict[str, str | None]) -> str:
    return urlencode({name: value for name, value in {**RIGHT, **values}.items() if value is not None})


@pytest.mark.promise("sign-in pages, attacks: a link with a wrong application, address, challenge or method")
@pytest.mark.parametrize("path", ["login", "register"])
async def test_a_wrong_link_is_answered_with_a_page_that_leads_nowhere(shop: Shop, path: str) -> None:
    for values in WRONG:
        answer = await shop.app.call("GET", f"/account/{path}?{query(values)}")
        assert (answer.status_code, answer.headers["Content-Type"]) == (400, "text/html; charset=utf-8"), values
        assert "This link does not work" in answer.text
        assert not [tag for tag in ("<a ", "<form", "<script", "http-equiv") if tag in answer.text]
        assert "Location" not in answer.headers


@pytest.mark.promise("sign-in pages, attacks: a link with a wrong application, address, challenge or method")
async def test_a_parameter_that_is_given_twice_is_refused(shop: Shop) -> None:
    for name in RIGHT:
        answer = await shop.app.call("GET", f"/account/login?{query({})}&{name}=x")
        assert answer.status_code == 400
        assert "is given twice" in answer.text


async def test_other_parameters_are_ignored_and_s256_is_accepted(shop: Shop) -> None:
    answer = await shop.app.call(
        "GET", f"/account/login?{query({'code_challenge_method': 'S256', 'utm_source': 'mail'})}"
    )
    assert answer.status_code == 200
    assert "utm_source" not in answer.text
    assert answer.headers["Cache-Control"] == "no-store"


async def test_an_application_that_was_closed_has_no_page(shop: Shop) -> None:
    await shop.change(isActive=False)
    assert (await shop.app.call("GET", f"/account/login?{query({})}")).status_code == 400


async def test_the_page_wears_the_branding_of_the_one_tenant_that_an_application_is_for(shop: Shop) -> None:
    """A page for several tenants, and for one that is closed, shows the service's own name."""
    branding = {"branding": {"name": "Acme & Sons", "primaryColor": "#123456", "supportEmail": "help@acme.example"}}
    changed = await shop.app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json=branding)
    assert changed.status_code == 200, changed.text
    tenants = (await shop.app.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    acme, other = (next(found["id"] for found in tenants if found["identifier"] == name) for name in ("acme", "other"))

    async def page() -> httpx.Response:
        answer = await shop.app.call("GET", f"/account/login?{query({})}")
        assert answer.status_code == 200
        return answer

    for open_to in (None, [], [acme, other]):
        await shop.change(allowedTenantIds=open_to)
        assert "Acme" not in (await page()).text
    await shop.change(allowedTenantIds=[other])
    assert "Other" in (await page()).text
    await shop.change(allowedTenantIds=[acme])
    assert "<title>Sign in: Acme &amp; Sons</title>" in (await page()).text
    told = told_by(await page())
    look = [told[name] for name in ("service", "color", "textColor", "support")]
    assert look == ["Acme & Sons", "#123456", "#ffffff", "help@acme.example"]
    closed = await shop.app.call("PUT", f"/api/tenants/{acme}", as_whom="root", json={"isActive": False})
    assert closed.status_code == 200, closed.text
    assert "Acme" not in (await page()).text


@pytest.mark.promise(
    "sign-in pages, attacks: a logo's address that opens the policy, or tells another host where it is shown"
)
async def test_the_tenants_logo_is_the_only_picture_of_another_host(shop: Shop) -> None:
    """The policy of the page names its very address, and the policies of other pages name none."""
    logo = "https://cdn.acme.example/logo.svg"

    async def policy(path: str) -> tuple[str, str | None]:
        answer = await shop.app.call("GET", path)
        return answer.headers["content-security-policy"], told_by(answer).get("logo")

    plain, _ = await policy(f"/account/login?{query({})}")
    body = {"branding": {"logoUrl": f"{logo}?size=2&dark"}}
    assert (await shop.app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json=body)).status_code == 200
    tenant_id = claims_of(shop.app.tokens["acme"])["tenant_id"]
    await shop.change(allowedTenantIds=[tenant_id])
    for path in ("/account/login", "/account/register"):
        named, shown = await policy(f"{path}?{query({})}")
        assert named == plain.replace("img-src data:", f"img-src data: {logo}")
        assert shown == f"{logo}?size=2&dark"
    for path in ("/account/login", "/account/register", "/account/security"):
        assert await policy(path) == (plain, None)
    # What no policy can name exactly is not shown, and the page is as without it.
    await shop.app.login("acme", "admin@acme.example")
    body = {"branding": {"logoUrl": "https://cdn.acme.example/"}}
    assert (await shop.app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json=body)).status_code == 200
    assert await policy(f"/account/login?{query({})}") == (plain, None)
