"""One-time codes: a login on the service's own pages becomes the application's, with the result of a login."""

from datetime import timedelta

import pytest

from application.identity.hosted_login.login_codes import LIVES
from tests.http.app import PASSWORD, Json
from tests.http.identity.factors import EMAIL, actions, move
from tests.http.identity.hosted_login.handing_over import CHALLENGE, REDIRECT, Shop, ensure_wrong_code
from tests.http.identity.steps import claims_of

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
async def test_the_first_login_is_told_as_the_first_and_no_later_one(unlimited: Shop) -> None:
    shop = unlimited
    await shop.app.make_user("acme", NEW, ["Reader"])
    for expected in (True, False):
        data = (await shop.exchange(await shop.code(email=NEW))).json()["data"]
        assert data["isFirstLogin"] is expected
        assert data["mustChangePassword"] is True


@pytest.mark.promise("sign-in pages, behaviour: the chosen tenant goes along")
async def test_a_chosen_tenant_goes_along_and_an_open_choice_is_left_to_the_application(unlimited: Shop) -> None:
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


async def test_a_login_that_was_never_handed_over_is_the_pages_alone(shop: Shop) -> None:
    body = {"email": EMAIL, "password": PASSWORD, "isPasswordEncrypted": False}
    assert (await shop.app.call("POST", "/api/auth/login", json=body)).status_code == 200
    ensure_wrong_code(await shop.exchange("x.y.z"))
