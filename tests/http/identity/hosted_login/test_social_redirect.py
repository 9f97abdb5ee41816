"""Login at a provider by redirect: it ends in the same one-time code, or at the console."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec.structs import replace

from adapters.memory.identity.social import MemorySocialProviders
from domain.scope import EveryTenant
from tests.http.app import open_test_app
from tests.http.conftest import seed
from tests.http.identity.factors.factors import EMAIL, Person, move
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import (
    ADA,
    ASKED,
    REDIRECT,
    SETTINGS,
    Browser,
    Shop,
    ensure_refused,
    ensure_wrong_code,
    outcome_of,
    query_of,
    told_by,
)

READER = replace(ADA, subject="reader", email=EMAIL)


@pytest_asyncio.fixture
async def browser() -> AsyncIterator[Browser]:
    app = await open_test_app(SETTINGS)
    await seed(app)
    await Shop(app).register()
    yield Browser(app)
    await app.client.aclose()


@pytest.mark.promise("GET /api/auth/social/{provider}/start")
@pytest.mark.promise("GET /api/auth/social/{provider}/callback")
@pytest.mark.promise("sign-in pages, behaviour: a login at a provider ends in the same code, or at the console")
async def test_a_login_at_a_provider_ends_in_a_code_of_the_application(browser: Browser) -> None:
    answer = await browser.travel()
    assert (answer.status_code, answer.text) == (302, "")
    assert answer.headers["Location"].startswith(f"{REDIRECT}?code=")
    assert answer.headers["Cache-Control"] == "no-store"
    given = query_of(answer.headers["Location"])
    assert given["state"] == ASKED["state"]
    login = (await Shop(browser.app).exchange(given["code"])).json()["data"]
    claims = claims_of(login["token"])
    assert (claims["email"], claims["amr"], claims["app_id"]) == ("ada@example.com", ["social"], "shop")
    assert login["isFirstLogin"] is True
    ensure_wrong_code(await Shop(browser.app).exchange(given["code"]))


@pytest.mark.promise("sign-in pages, behaviour: a login at a provider ends in the same code, or at the console")
async def test_without_an_application_it_ends_at_the_console(browser: Browser) -> None:
    answer = await browser.travel(asked={})
    assert answer.status_code == 200
    assert told_by(answer)["endsAt"] == "account/security"  # no console is built into this application
    data = outcome_of(answer)["data"]
    assert "refreshToken" not in data
    assert answer.headers["Set-Cookie"].startswith("tenantry=")
    assert answer.headers["Set-Cookie"].endswith("Path=/; HttpOnly; SameSite=Strict")
    headers = {"Cookie": f"tenantry={browser.jar['tenantry']}", "X-Console": "1", "Sec-Fetch-Site": "same-origin"}
    renewed = await browser.app.call("POST", "/console/session/refresh", json={}, headers=headers)
    assert renewed.status_code == 200, renewed.text


async def test_the_cookie_is_bound_to_the_host_and_lives_for_ten_minutes() -> None:
    from adapters.http.account.social import state_cookie

    kept = state_cookie("https://id.example").kept("x")
    assert kept == "__Host-tenantry-social=x; Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure"
    assert state_cookie("http://localhost:8000").kept("x").startswith("tenantry-social=x;")


@pytest.mark.promise("sign-in pages, attacks: a second factor that is passed by a provider")
async def test_a_second_factor_is_asked_for_on_the_page(browser: Browser) -> None:
    app = browser.app
    person = Person(app)
    await person.login()
    user_id = UUID(claims_of(app.tokens[person.name])["sub"])
    async with app.adapters.database.transaction(EveryTenant()) as tx:
        await tx.credentials.confirm_email(user_id, EMAIL, app.adapters.clock.now())
    await person.login()
    await person.add_app()
    answer = await browser.travel(READER)
    assert answer.status_code == 200
    outcome = outcome_of(answer)
    assert (outcome["errorCode"], outcome["mfa"]["methods"]) == ("MFA_REQUIRED", ["totp", "recovery"])
    assert "code=" not in answer.headers.get("Location", "")
    assert told_by(answer)["target"]["app"] == "shop"
    done = await person.verify(outcome["mfa"]["ticket"])
    assert claims_of(done.json()["data"]["token"])["app_id"] == "shop"


@pytest.mark.promise("GET /api/auth/social/{provider}/callback")
async def test_a_refused_social_login_is_reported_on_the_page_with_a_way_to_retry(browser: Browser) -> None:
    for query, text in (
        ({"error": "access_denied"}, "The login with the provider was not finished."),
        ({"code": "unknown"}, "No account here belongs to this login"),
        ({}, "No account here belongs to this login"),
    ):
        taken = await browser.leave()
        answer = await browser.come_back(state=taken["state"], **query)
        assert answer.status_code == 200
        assert text in outcome_of(answer)["errorMessage"]
        assert told_by(answer)["target"]["app"] == "shop"


CANCELLED = {
    "google": {"error": "access_denied"},
    "github": {
        "error": "access_denied",
        "error_description": "The user has denied your application access.",
        "error_uri": "https://docs.github.com/apps/managing-oauth-apps/troubleshooting#access-denied",
    },
    "microsoft": {"error": "access_denied", "error_subcode": "cancel", "error_description": "AADSTS65004"},
    "facebook": {"error": "access_denied", "error_reason": "user_denied", "error_description": "Permissions error"},
}


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
@pytest.mark.parametrize("said", CANCELLED.values(), ids=CANCELLED.keys())
async def test_cancelling_at_a_provider_is_reported_without_the_text_of_the_provider(
    browser: Browser, said: dict[str, str]
) -> None:
    taken = await browser.leave()
    answer = await browser.come_back(state=taken["state"], **said)
    assert outcome_of(answer)["errorMessage"] == "The login with the provider was not finished."
    assert said.get("error_description", "denied") not in answer.text


@pytest.mark.promise(
    "sign-in pages, behaviour: Answers in the whole shape that Google, GitHub and Microsoft document are understood: "
    "texts for numbers, gaps, pages of addresses, keys of one directory, errors with the status of a success"
)
@pytest.mark.parametrize(
    "more",
    [
        {"iss": "https://accounts.google.com", "scope": "email openid", "authuser": "0", "prompt": "none"},
        {"session_state": "7b29111d-c220-4263-99ab-6f6e135d75ef", "client_info": "eyJ1aWQiOiJ4In0"},
    ],
    ids=["google", "microsoft"],
)
async def test_what_a_provider_adds_to_its_answer_changes_nothing(browser: Browser, more: dict[str, str]) -> None:
    taken = await browser.leave()
    answer = await browser.come_back(code=browser.signed_in(taken), state=taken["state"], **more)
    assert answer.status_code == 302
    assert query_of(answer.headers["Location"]).keys() == {"code", "state"}


async def test_an_unavailable_provider_is_reported(browser: Browser) -> None:
    taken = await browser.leave()
    code = browser.signed_in(taken)
    adapters = browser.app.services.social_redirect.providers
    assert isinstance(adapters, MemorySocialProviders)
    object.__setattr__(adapters, "away", ("google",))
    answer = await browser.come_back(code=code, state=taken["state"])
    assert outcome_of(answer)["errorCode"] == "SERVICE_UNAVAILABLE"


@pytest.mark.promise("GET /api/auth/social/{provider}/start")
async def test_only_providers_with_a_secret_are_offered_and_begin(browser: Browser) -> None:
    offered = told_by(await browser.get("/account/login"))["providers"]
    assert offered == [{"name": "google", "title": "Google"}, {"name": "github", "title": "GitHub"}]
    for name in ("microsoft", "unknown", "GOOGLE", "google%2f.."):
        answer = await browser.get(f"/api/auth/social/{name}/start")
        assert answer.status_code in (400, 404)
        assert "Location" not in answer.headers


@pytest.mark.promise("sign-in pages, attacks: an account by a provider where nobody makes their own")
async def test_without_self_registration_a_provider_makes_no_account() -> None:
    app = await open_test_app({**SETTINGS, "TENANTRY_SELF_REGISTRATION": "off"})
    await seed(app)
    await Shop(app).register()
    answer = await Browser(app).travel()
    assert outcome_of(answer)["errorCode"] == "INVALID_CREDENTIALS"


WRONG = [
    {"app": "unknown"},
    {"redirect": REDIRECT + "/"},
    {"redirect": "https://evil.example/"},
    {"code_challenge": ""},
    {"code_challenge_method": "plain"},
]


@pytest.mark.promise("sign-in pages, attacks: Open redirect by way of a provider")
@pytest.mark.parametrize("values", WRONG, ids=str)
async def test_a_wrong_link_leaves_for_no_provider(browser: Browser, values: dict[str, str]) -> None:
    query = "&".join(f"{name}={value}" for name, value in {**ASKED, **values}.items() if name != "state")
    ensure_refused(await browser.get(f"/api/auth/social/google/start?{query}"))


@pytest.mark.promise("sign-in pages, attacks: State forged, missing or cut (RFC 9700, 4.7)")
async def test_a_state_that_is_forged_or_missing_is_refused_before_a_provider_is_asked(browser: Browser) -> None:
    taken = await browser.leave()
    code = browser.signed_in(taken)
    for state in ("", "x", taken["state"][:-1], taken["state"] + "x", "é"):
        ensure_refused(await browser.come_back(code=code, state=state))
    assert (await browser.come_back(code=code, state=taken["state"])).status_code == 302


@pytest.mark.promise("sign-in pages, attacks: login CSRF: the answer to a stranger's login in somebody's browser")
async def test_an_answer_in_another_browser_is_refused(browser: Browser) -> None:
    """Login CSRF: a stranger's answer in somebody's browser would sign them in to the stranger's account."""
    taken = await browser.leave()
    code = browser.signed_in(taken)
    victim = Browser(browser.app)
    ensure_refused(await victim.come_back(code=code, state=taken["state"]))
    await victim.leave()  # a login of the victim's own is another one
    ensure_refused(await victim.come_back(code=code, state=taken["state"]))


@pytest.mark.promise("sign-in pages, attacks: an answer of a provider that is replayed, or comes late")
async def test_an_answer_serves_once_and_for_ten_minutes(browser: Browser) -> None:
    taken = await browser.leave()
    kept = dict(browser.jar)
    assert (await browser.come_back(code=browser.signed_in(taken), state=taken["state"])).status_code == 302
    browser.jar = kept
    ensure_refused(await browser.come_back(code=browser.signed_in(taken), state=taken["state"]))
    taken = await browser.leave()
    move(browser.app, timedelta(minutes=10))
    ensure_refused(await browser.come_back(code=browser.signed_in(taken), state=taken["state"]))


@pytest.mark.promise("sign-in pages, attacks: Mix-up of providers (RFC 9700, 4.4)")
async def test_an_answer_of_another_provider_is_refused(browser: Browser) -> None:
    """Mix-up: a code of one provider that is brought to the address of another."""
    taken = await browser.leave("google")
    assert taken["redirect_uri"].endswith("/api/auth/social/google/callback")
    code = browser.signed_in(taken, replace(ADA, provider="github"))
    ensure_refused(await browser.come_back("github", code=code, state=taken["state"]))
    answer = await browser.come_back("google", code=code, state=taken["state"])
    assert "errorCode" in outcome_of(answer)


@pytest.mark.promise("sign-in pages, attacks: a provider's code, or id token, of another login (nonce, PKCE)")
async def test_a_code_of_another_login_at_the_provider_is_refused(browser: Browser) -> None:
    """Code injection at the provider: nonce and verifier are of the browser that began."""
    stranger = Browser(browser.app)
    stolen = stranger.signed_in(await stranger.leave())
    taken = await browser.leave()
    answer = await browser.come_back(code=stolen, state=taken["state"])
    assert outcome_of(answer)["errorCode"] == "INVALID_CREDENTIALS"


@pytest.mark.promise("sign-in pages, attacks: Forged and foreign cookies, and what they let somebody read")
async def test_cookies_of_another_kind_and_changed_ones_are_none(browser: Browser) -> None:
    taken = await browser.leave()
    (name,) = browser.jar
    right = browser.jar[name]
    content = browser.app.services.social_redirect.tickets
    for wrong in ("", "x", right[:-2], content.seal("code", READER, browser.app.adapters.clock.now())):
        browser.jar[name] = wrong
        ensure_refused(await browser.come_back(code=browser.signed_in(taken), state=taken["state"]))


@pytest.mark.promise("sign-in pages, attacks: Open redirect by way of a provider")
async def test_a_concurrently_changed_application_gets_no_redirect(browser: Browser) -> None:
    taken = await browser.leave()
    app = browser.app
    listed = (await app.call("GET", "/api/applications", as_whom="root")).json()["data"]["items"]
    await app.call("PUT", f"/api/applications/{listed[0]['id']}", as_whom="root", json={"redirectUrls": []})
    ensure_refused(await browser.come_back(code=browser.signed_in(taken), state=taken["state"]))


@pytest.mark.promise("sign-in pages, attacks: Forged and foreign cookies, and what they let somebody read")
async def test_nothing_of_a_begun_login_is_readable_in_its_cookie(browser: Browser) -> None:
    taken = await browser.leave()
    (ticket,) = browser.jar.values()
    assert len(ticket) < 3_500, "browsers keep 4 kB"
    for secret in (taken["state"], taken["nonce"], "shop"):
        assert secret not in ticket
