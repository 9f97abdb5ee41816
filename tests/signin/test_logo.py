"""The tenant's logo on the sign-in pages: the one picture of another host."""

import pytest
from playwright.async_api import Route, ViewportSize, expect

from tests.console.conftest import NARROW, WIDE, Visitor
from tests.console.looks.test_accessibility import overflow, violations
from tests.http.identity.factors.steps import claims_of
from tests.http.identity.hosted_login.handing_over import Shop
from tests.signin.conftest import SHOP
from tests.signin.journeys import asked, open_page

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

ASK_FOR_PICTURE = """src => new Promise(done => {
  const picture = Object.assign(new Image(), { onload: () => done("shown"), onerror: () => done("refused") });
  picture.src = src;
})"""
LOGO = "https://cdn.acme.example/logo.svg"
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 60">
<circle cx="30" cy="30" r="26" fill="#c2410c"/>
<text x="66" y="42" font-family="sans-serif" font-size="34" fill="#222">Acme</text></svg>"""


async def branded(visitor: Visitor, app_id: str) -> Shop:
    """An application for acme alone, whose logo is at ``LOGO``."""
    app = visitor.service.app
    await app.login("acme", "admin@acme.example")
    branding = {"name": "Acme & Sons", "logoUrl": f"{LOGO}?v=2", "primaryColor": "#c2410c"}
    body = {"branding": branding}
    assert (await app.call("PUT", "/api/tenants/current/settings", as_whom="acme", json=body)).status_code == 200
    tenant_id = claims_of(app.tokens["acme"])["tenant_id"]
    return await Shop(app, app_id).register(redirectUrls=[f"{SHOP}/in"], allowedTenantIds=[tenant_id])


@pytest.mark.promise(
    "sign-in pages, attacks: a logo's address that opens the policy, or tells another host where it is shown"
)
@pytest.mark.promise(
    "sign-in pages, behaviour: the tenant's logo is shown, wide and narrow, light and dark, and its absence leaves no "
    "trace"
)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
async def test_the_tenants_logo_is_shown(visitor: Visitor, theme: str, size: ViewportSize) -> None:
    page, sent = visitor.page, []

    async def answer(route: Route) -> None:
        sent.append((route.request.url, await route.request.all_headers()))
        await route.fulfill(body=PICTURE, content_type="image/svg+xml")

    await visitor.context.route("https://*.example/**", answer)
    own = await branded(visitor, f"logo-{theme}-{size['width']}")
    await page.set_viewport_size(size)
    await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    for path in ("login", "register"):
        await open_page(visitor, path, asked(app=own.app_id))
        logo = page.locator("img.logo")
        await expect(logo).to_be_visible()
        await page.wait_for_function("document.querySelector('img.logo').naturalWidth > 0")
        box = await logo.bounding_box()
        assert box is not None
        assert (box["width"], box["height"]) == (192, 48)
        assert await violations(visitor) == []
        assert await overflow(visitor) <= 0
    assert {url for url, _ in sent} == {f"{LOGO}?v=2"}
    assert not [headers for _, headers in sent if "referer" in headers or "cookie" in headers]
    # Nothing else of that host, or of any other, is asked for.
    before = len(sent)
    for other in (LOGO.replace("logo", "other"), "https://elsewhere.example/logo.svg"):
        assert await page.evaluate(ASK_FOR_PICTURE, other) == "refused"
    assert len(sent) == before
    visitor.complaints.clear()
    visitor.requests[:] = [request for request in visitor.requests if ".example/" not in request.url]


@pytest.mark.promise(
    "sign-in pages, behaviour: the tenant's logo is shown, wide and narrow, light and dark, and its absence leaves no "
    "trace"
)
@pytest.mark.parametrize("fate", ["away", "none", "text"])
async def test_a_logo_that_is_not_there_leaves_no_trace(visitor: Visitor, fate: str) -> None:
    page = visitor.page

    async def answer(route: Route) -> None:
        if fate == "away":
            await route.abort()
        else:
            await route.fulfill(status=404 if fate == "none" else 200, body="no picture", content_type="text/html")

    await visitor.context.route("https://cdn.acme.example/**", answer)
    own = await branded(visitor, f"logo-{fate}")
    await open_page(visitor, "login", asked(app=own.app_id))
    await expect(page.locator("img.logo")).to_be_hidden()
    await expect(page.get_by_text("Acme & Sons")).to_be_visible()
    assert await overflow(visitor) <= 0
    visitor.requests[:] = [request for request in visitor.requests if request.url != f"{LOGO}?v=2"]
