"""Links to the sign-in pages: what they must say, and what is shown to a wrong one."""

from urllib.parse import urlencode

import httpx
import pytest

from tests.http.identity.hosted_login.handing_over import CHALLENGE, REDIRECT, Shop
from tests.http.identity.hosted_login.travelling import told_by
from tests.http.identity.steps import claims_of

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


async def test_other_parameters_are_left_alone_and_s256_may_be_said(shop: Shop) -> None:
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
