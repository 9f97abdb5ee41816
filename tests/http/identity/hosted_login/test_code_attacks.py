"""Known attacks on codes, a test for each."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from adapters.memory.mail import MemoryMailer
from application.identity.hosted_login.login_codes import CodeContent, LoginCodes
from domain.identity.redirects import challenge_of
from tests.http.app import Json
from tests.http.identity.factors.factors import EMAIL, Person, actions, ask_for_factors, move
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import REDIRECT, VERIFIER, Shop, ensure_wrong_code

OTHER_VERIFIER = "v" * 50


@pytest.mark.promise("sign-in pages, attacks: Code replay, soon, late and at the same moment (RFC 6749, 4.1.2)")
async def test_the_second_use_of_a_code_ends_the_session_that_the_first_one_made(shop: Shop) -> None:
    """RFC 6749, 4.1.2."""
    code = await shop.code()
    data = (await shop.exchange(code)).json()["data"]
    assert (await shop.me(data["token"])).status_code == 200
    ensure_wrong_code(await shop.exchange(code))
    assert (await shop.me(data["token"])).json()["errorCode"] == "TOKEN_INVALID"
    assert (await shop.refresh(data["refreshToken"])).status_code == 401
    mailer = shop.app.adapters.mailer
    assert isinstance(mailer, MemoryMailer)
    while await shop.app.services.relay.deliver():
        pass
    assert mailer.sent[-1].to == EMAIL
    assert "session.stolen" in await actions(shop.app)


@pytest.mark.promise("sign-in pages, attacks: Code replay, soon, late and at the same moment (RFC 6749, 4.1.2)")
async def test_the_second_use_is_noticed_long_after_the_code_has_expired(shop: Shop) -> None:
    code = await shop.code()
    data = (await shop.exchange(code)).json()["data"]
    move(shop.app, timedelta(minutes=30))
    ensure_wrong_code(await shop.exchange(code))
    assert (await shop.me(data["token"])).json()["errorCode"] == "TOKEN_INVALID"


@pytest.mark.promise("sign-in pages, attacks: Code replay, soon, late and at the same moment (RFC 6749, 4.1.2)")
async def test_a_code_used_concurrently_succeeds_at_most_once_and_leaves_no_session(unlimited: Shop) -> None:
    shop, code = unlimited, await unlimited.code()
    answers = await asyncio.gather(*(shop.exchange(code) for _ in range(20)))
    won = [answer for answer in answers if answer.status_code == 200]
    assert len(won) <= 1
    for answer in won:
        assert (await shop.me(answer.json()["data"]["token"])).status_code == 401


@pytest.mark.promise("sign-in pages, attacks: a code that was seen in a log or a history")
async def test_a_code_that_was_only_seen_is_worth_nothing_and_spoils_nothing(shop: Shop) -> None:
    """A code in a log or a history: without the verifier it neither serves nor ends the owner's login."""
    code = await shop.code()
    for verifier in (OTHER_VERIFIER, "", challenge_of(VERIFIER), VERIFIER.upper(), VERIFIER + "x", "x" * 5_000):
        ensure_wrong_code(await shop.exchange(code, verifier))
    data = (await shop.exchange(code)).json()["data"]
    ensure_wrong_code(await shop.exchange(code, OTHER_VERIFIER))
    assert (await shop.me(data["token"])).status_code == 200


@pytest.mark.promise("sign-in pages, attacks: Code injection: a stolen code in the thief's own client (RFC 9700, 4.5)")
async def test_a_code_of_somebody_else_cannot_be_injected(unlimited: Shop) -> None:
    """RFC 9700, 4.5: the thief's application holds a verifier of its own, which is not the stolen code's."""
    shop = unlimited
    stolen = await shop.code()
    shop.asked["codeChallenge"] = challenge_of(OTHER_VERIFIER)
    own = await shop.code(email="admin@acme.example")
    ensure_wrong_code(await shop.exchange(stolen, OTHER_VERIFIER))
    assert (await shop.exchange(own, OTHER_VERIFIER)).status_code == 200


@pytest.mark.promise(
    "sign-in pages, attacks: PKCE downgrade: no challenge, no verifier, the plain method (RFC 9700, 4.8.2)"
)
async def test_a_code_cannot_be_asked_for_without_a_challenge_or_exchanged_without_a_verifier(shop: Shop) -> None:
    """PKCE downgrade (RFC 9700, 4.8.2): there is no way without, and no plain method."""
    headers = {"Authorization": f"Bearer {(await shop.login())['token']}"}
    without = await shop.app.call("POST", "/api/auth/codes", json={"redirect": REDIRECT}, headers=headers)
    assert [error["field"] for error in without.json()["errors"]] == ["codeChallenge"]
    plain: Json = {**shop.asked, "codeChallengeMethod": "plain"}
    answer = await shop.app.call("POST", "/api/auth/codes", json=plain, headers=headers)
    assert [error["field"] for error in answer.json()["errors"]] == ["codeChallengeMethod"]
    code = (await shop.ask(headers["Authorization"].removeprefix("Bearer "))).json()["data"]["code"]
    bare = await shop.app.call("POST", "/api/auth/code", json={"code": code})
    assert [error["field"] for error in bare.json()["errors"]] == ["codeVerifier"]


@pytest.mark.promise("sign-in pages, attacks: a code of one application at another; a session of one handed to another")
async def test_a_code_is_the_applications_that_it_was_made_for(unlimited: Shop) -> None:
    shop = unlimited
    await Shop(shop.app, "evil").register(redirectUrls=["https://evil.example/"])
    code = await shop.code()
    ensure_wrong_code(await shop.exchange(code, app_id="evil"))
    assert (await shop.exchange(code, app_id="shop")).status_code == 200


@pytest.mark.promise("sign-in pages, attacks: a code of one application at another; a session of one handed to another")
async def test_an_application_gets_no_session_of_another_one(unlimited: Shop) -> None:
    shop = unlimited
    evil = await Shop(shop.app, "evil").register(redirectUrls=["https://evil.example/"])
    token = (await shop.login())["token"]
    assert (await shop.ask(token, redirect="https://evil.example/")).status_code == 400
    headers = {"Authorization": f"Bearer {token}", "X-App-Id": "evil"}
    answer = await shop.app.call("POST", "/api/auth/codes", json=evil.asked, headers=headers)
    assert answer.status_code == 200, "the session's own application counts, and no header"
    assert claims_of((await shop.exchange(answer.json()["data"]["code"])).json()["data"]["token"])["app_id"] == "shop"


TRICKS = [
    REDIRECT + "/",
    REDIRECT + "?",
    REDIRECT + "?x=y",
    REDIRECT + "#",
    REDIRECT.upper(),
    REDIRECT.replace("https", "http"),
    REDIRECT.replace("https", "HTTPS"),
    REDIRECT.replace("shop.example", "shop.example:443"),
    REDIRECT.replace("shop.example", "shop.example."),
    REDIRECT.replace("shop.example", "shop.example@evil.example"),
    REDIRECT.replace("shop.example", "evil.example\\@shop.example"),
    REDIRECT.replace("shop.example", "evil.example/.shop.example"),
    REDIRECT.replace("/signed-in", "/x/../signed-in"),
    REDIRECT.replace("/signed-in", "/%73igned-in"),
    REDIRECT.replace("/signed-in", "//signed-in"),
    REDIRECT + "\n",
    REDIRECT + "%0d%0aSet-Cookie:x",
    "//shop.example/signed-in",
    "javascript:alert(1)//" + REDIRECT,
    "https://evil.example/?" + REDIRECT,
    "",
]


@pytest.mark.promise(
    "sign-in pages, attacks: Open redirect: an address that is spelt like a registered one, with a user name, a "
    "fragment, another path, case, port or host"
)
@pytest.mark.parametrize("address", TRICKS)
async def test_no_spelling_of_a_registered_address_leads_anywhere(shop: Shop, address: str) -> None:
    answer = await shop.ask((await shop.login())["token"], redirect=address)
    assert [error["field"] for error in answer.json()["errors"]] == ["redirect"], answer.text


@pytest.mark.promise(
    "sign-in pages, attacks: Account disabled, tenant closed, application closed or changed between code and exchange "
    "(CVE-2026-16103)"
)
async def test_states_that_changed_between_code_and_exchange_are_checked_again(unlimited: Shop) -> None:
    """CVE-2026-16103: each refusal leaves the code used up, so that it does not serve once the state is undone."""
    shop = unlimited
    user_id = claims_of((await shop.login())["token"])["sub"]
    tenant_id = claims_of(shop.app.tokens["acme"])["tenant_id"]

    async def put(path: str, whom: str, **values: object) -> None:
        answer = await shop.app.call("PUT", path, as_whom=whom, json=values)
        assert answer.status_code == 200, answer.text

    user, tenant = f"/api/users/{user_id}", f"/api/tenants/{tenant_id}"
    for path, whom, closed, opened in (
        (user, "root in acme", {"isActive": False}, {"isActive": True}),
        (tenant, "root", {"isActive": False}, {"isActive": True}),
        (shop.location, "root", {"isActive": False}, {"isActive": True}),
        (shop.location, "root", {"redirectUrls": []}, {"redirectUrls": [REDIRECT]}),
        (shop.location, "root", {"allowedTenantIds": []}, {"allowedTenantIds": None}),
    ):
        code = await shop.code()
        await put(path, whom, **closed)
        answer = await shop.exchange(code)
        assert answer.status_code in (400, 401, 403), f"{closed}: {answer.text}"
        assert "token" not in answer.text.replace("token ", "")
        await put(path, whom, **opened)
        ensure_wrong_code(await shop.exchange(code))
        if whom == "root" and path == tenant:
            await shop.app.login("root", "admin@example.com")


@pytest.mark.promise("sign-in pages, attacks: a code that outlives a logout")
async def test_a_logout_ends_codes(shop: Shop) -> None:
    login = await shop.login()
    code = (await shop.ask(login["token"])).json()["data"]["code"]
    headers = {"Authorization": f"Bearer {login['token']}"}
    assert (await shop.app.call("POST", "/api/auth/logout", headers=headers)).status_code == 200
    ensure_wrong_code(await shop.exchange(code))


@pytest.mark.promise("sign-in pages, attacks: a second factor that is passed by a code of before it")
async def test_a_second_factor_that_was_added_or_required_meanwhile_is_asked_for(unlimited: Shop) -> None:
    shop = unlimited
    code, person = await shop.code(), Person(shop.app)
    await person.login()
    await person.add_app()
    move(shop.app, -timedelta(seconds=60))  # where adding it has moved the clock to
    refused = await shop.exchange(code)
    assert (refused.status_code, refused.json()["errorCode"]) == (401, "MFA_REQUIRED")
    ensure_wrong_code(await shop.exchange(code))
    await ask_for_factors(shop.app, claims_of(shop.app.tokens["acme"])["tenant_id"])
    headers = {"X-App-Id": "shop"}
    body = {"email": EMAIL, "password": "x", "isPasswordEncrypted": False}
    assert (await shop.app.call("POST", "/api/auth/login", json=body, headers=headers)).status_code == 401


@pytest.mark.promise("sign-in pages, attacks: Forged codes, and tickets of another kind")
async def test_codes_are_sealed_and_no_other_ticket_is_one(shop: Shop) -> None:
    code = await shop.code()
    for forged in ("", "x", code[:-2], code + "x", code.swapcase(), "é" * 10, "x" * 9_000, f"{code} "):
        ensure_wrong_code(await shop.exchange(forged))
    codes: LoginCodes = shop.app.services.login_codes
    opened = codes.tickets.open("code", code, CodeContent, shop.app.adapters.clock.now())
    assert opened is not None
    other = codes.tickets.seal("mfa", opened.content, opened.until)
    ensure_wrong_code(await shop.exchange(other))
    unknown = CodeContent(session_id=UUID(int=1), target=opened.content.target, expires_at=opened.content.expires_at)
    ensure_wrong_code(await shop.exchange(codes.tickets.seal("code", unknown, opened.until)))
    assert (await shop.exchange(code)).status_code == 200


@pytest.mark.promise("sign-in pages, attacks: an API key that hands itself over")
async def test_a_service_account_hands_nothing_over(shop: Shop) -> None:
    app = shop.app
    account = await app.call(
        "POST", "/api/service-accounts", as_whom="acme", json={"name": "Robot", "roles": ["Admin"]}
    )
    path = f"/api/service-accounts/{account.json()['data']['id']}/keys"
    key = await app.call("POST", path, as_whom="acme", json={"name": "key"})
    answer = await shop.ask(key.json()["data"]["key"])
    assert (answer.status_code, answer.json()["errorCode"]) == (403, "FORBIDDEN")
