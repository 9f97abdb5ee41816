"""The front end of docs/sign-in-pages.md in a browser, on an origin of its own."""

import re
from pathlib import Path

import pytest
from playwright.async_api import Route, expect

from tests.console.conftest import Visitor
from tests.http.identity.hosted_login.handing_over import Shop
from tests.http.identity.steps import claims_of
from tests.signin.conftest import SHOP
from tests.signin.journeys import sign_in

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "sign-in-pages.md"
(CODE,) = re.findall(r"^```js\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.promise("sign-in pages, behaviour: the front end of the page works")
async def test_the_front_end_of_the_document_signs_somebody_in(visitor: Visitor) -> None:
    page = visitor.page
    # the addresses of the document, as they are here
    code = CODE.replace("https://id.example", visitor.home).replace("https://shop.example/signed-in", f"{SHOP}/in")
    markup = f'<button onclick="signIn()">Sign in</button><script>{code}</script>'

    async def shop(route: Route) -> None:
        await route.fulfill(content_type="text/html", body=markup)

    async def exchange(route: Route) -> None:
        """As the service answers with TENANTRY_CORS_ORIGINS, which the service of these tests has not set."""
        allowed = {"Access-Control-Allow-Origin": SHOP, "Access-Control-Allow-Headers": "content-type"}
        if route.request.method == "OPTIONS":
            await route.fulfill(status=204, headers=allowed)
            return
        answer = await route.fetch()
        await route.fulfill(response=answer, headers={**answer.headers, **allowed})

    await page.route(f"{SHOP}/**", shop)
    await page.route("**/api/auth/code", exchange)
    await page.goto(f"{SHOP}/")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("to continue to The shop")).to_be_visible()
    await sign_in(visitor, "reader@acme.example")
    await page.wait_for_url(f"{SHOP}/in?**")
    login = await page.evaluate("signedIn()")
    assert claims_of(login["token"])["app_id"] == "shop"
    assert page.url == f"{SHOP}/in"
    me = await Shop(visitor.service.app).me(login["token"])
    assert me.json()["data"]["email"] == "reader@acme.example"
    await page.goto(f"{SHOP}/in?code=somebody-elses&state=guessed")
    with pytest.raises(Exception, match="did not begin here"):
        await page.evaluate("signedIn()")
