"""Numbers and times that somebody types: sent as the console shows them, in every language and zone, or refused."""

import json
from collections.abc import Mapping

import pytest
from playwright.async_api import Browser, Route, expect

from tests.console.conftest import WIDE, Service, Visitor

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

PRICES: Mapping[str, Mapping[str, str]] = {
    "en-GB": {"1,250.50": "1250.50", "1250.5": "1250.5", "1,250": "1250", "1,25": "1,25", "1.250,50": "1.250,50"},
    "de-DE": {"1.250,50": "1250.50", "1250,5": "1250.5", "1.250": "1250", "1.25": "1.25", "1,250.50": "1,250.50"},
    "de-CH": {"1’250.50": "1250.50", "1'250.5": "1250.5", "1,250": "1,250", "-3.5": "-3.5"},
    "de-AT": {"1\u00a0250,50": "1250.50", "1 250,5": "1250.5", "12,5": "12.5"},
    "fr-FR": {"1,250.50": "1250.50", "1 250,50": "1 250,50"},
}
"""By language of the browser: what is typed, and what is sent. Other texts stay as they are."""
STOCKS: Mapping[str, Mapping[str, object]] = {
    "en-GB": {"1,250": 1250, "1.250": "1.250"},
    "de-DE": {"1.250": 1250, "1,250": "1,250"},
}
TIMES: Mapping[str, Mapping[str, str]] = {
    "Europe/Berlin": {
        "2026-07-01T12:00": "2026-07-01T10:00:00.000Z",
        "2026-10-25T02:30:15": "2026-10-25T00:30:15.000Z",  # twice: the first
        "2026-03-29T02:30": "2026-03-29T02:30",  # never
        "2026-03-29T03:00": "2026-03-29T01:00:00.000Z",
    },
    "America/New_York": {
        "2026-03-08T02:59:59": "2026-03-08T02:59:59",
        "2026-11-01T01:30": "2026-11-01T05:30:00.000Z",
    },
    "Asia/Kolkata": {"2026-01-01T00:00": "2025-12-31T18:30:00.000Z"},
    "Pacific/Apia": {"2011-12-30T12:00": "2011-12-30T12:00", "2011-12-31T12:00": "2011-12-30T22:00:00.000Z"},
}
"""By zone: what is chosen, and the moment that is sent. A time that the clocks leave out stays without a zone."""


async def refuse(route: Route) -> None:
    """Refuses a new product, so that the form stays."""
    if route.request.method != "POST":
        await route.continue_()
        return
    error = {"code": "VALIDATION_ERROR", "message": "The request is not valid.", "details": []}
    await route.fulfill(status=400, json={"success": False, "error": error})


async def sent(
    service: Service, chromium: Browser, name: str, values: list[str], *, locale: str = "en-GB", zone: str = "UTC"
) -> list[object]:
    """What the form of a new product sends for the values, which are typed one after the other."""
    context = await chromium.new_context(viewport=WIDE, locale=locale, timezone_id=zone)
    context.set_default_timeout(60_000)
    visitor = Visitor(service, context, await context.new_page())
    bodies: list[dict[str, object]] = []
    await visitor.enter("rows/products/new")
    page = visitor.page
    await page.route("**/api/products", refuse)
    for number, value in enumerate(values, start=1):
        await page.locator("input[name=name]").fill(f"Lamp {number}")
        await page.locator(f"input[name={name}]").fill(value)
        async with page.expect_request(lambda asked: asked.method == "POST") as asked:
            await page.locator("form button[type=submit]").click()
        bodies.append(json.loads((await asked.value).post_data or ""))
        await expect(page.locator("form[aria-busy=true]")).to_have_count(0)
    await context.close()
    return [body.get(name) for body in bodies]


@pytest.mark.promise(
    "console, journeys: numbers and times are sent as they are shown, in each language and zone, or refused"
)
@pytest.mark.parametrize("locale", PRICES)
async def test_an_amount_is_read_in_the_signs_of_the_language(service: Service, chromium: Browser, locale: str) -> None:
    typed = PRICES[locale]
    assert await sent(service, chromium, "price", [*typed], locale=locale) == [*typed.values()]


@pytest.mark.parametrize("locale", STOCKS)
async def test_a_whole_number_is_read_in_the_signs_of_the_language(
    service: Service, chromium: Browser, locale: str
) -> None:
    typed = STOCKS[locale]
    assert await sent(service, chromium, "stock", [*typed], locale=locale) == [*typed.values()]


@pytest.mark.parametrize("zone", TIMES)
async def test_a_time_is_the_one_that_the_clocks_of_the_zone_show(
    service: Service, chromium: Browser, zone: str
) -> None:
    chosen = TIMES[zone]
    assert await sent(service, chromium, "releasedAt", [*chosen], zone=zone) == [*chosen.values()]
