"""Plots: what the service counted is drawn, pointed at, and read as a table."""

from datetime import timedelta

import pytest
from playwright.async_api import Route, expect

from tests.console.conftest import NARROW, Visitor
from tests.console.looks.test_accessibility import overflow, violations

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def point(minute: int, **numbers: float | None) -> dict[str, object]:
    at = f"2026-11-20T12:{minute:02}:00Z"
    plain: dict[str, float | None] = {"requests": 120, "errors": 0, "refused": 0, "p50": 2.5, "p99": 12.5}
    return {"at": at, "seconds": 60.0, **plain, **numbers}


@pytest.mark.promise("console, journeys: System: what was counted is drawn, and is a table")
async def test_the_last_hours_are_drawn_and_are_a_table(visitor: Visitor) -> None:
    page = visitor.page
    quiet = {**point(5, requests=0, p50=None, p99=None), "seconds": 180.0}
    points = [point(1), point(2, requests=600, errors=3, p99=480.0), quiet, point(6, refused=7)]

    async def told(route: Route) -> None:
        await route.fulfill(json={"success": True, "data": {"points": points}})

    await page.route("**/api/system/traffic", told)
    await visitor.enter("system", "admin@example.com")
    requests = page.get_by_role("img", name="Requests a minute: 120 now, 600 at most")
    await expect(requests).to_be_visible()
    await expect(page.get_by_role("img", name="99 of 100 took at most: 13 ms now, 480 ms at most")).to_be_visible()
    box = await requests.bounding_box()
    assert box is not None
    # the second of six minutes
    await page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
    figure = page.locator("figure", has=requests)
    await expect(figure.locator("strong")).to_have_text("600")
    await page.get_by_text("As a table").click()
    table = page.get_by_role("region", name="Requests of the last hours").get_by_role("row")
    assert [await row.inner_text() for row in await table.all()][3].split("\t")[1:] == ["600", "480 ms", "3", "0"]
    for theme in ("light", "dark"):
        await page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
        assert await violations(visitor) == [], theme
    await page.set_viewport_size(NARROW)
    assert await overflow(visitor) <= 0


async def test_the_sample_points_have_the_fields_of_the_reported_points(visitor: Visitor) -> None:
    async with visitor.page.expect_response("**/api/system/traffic") as answer:
        await visitor.enter("system", "admin@example.com")
    points = (await (await answer.value).json())["data"]["points"]
    assert points
    assert set(points[0]) == set(point(1))


async def test_the_home_page_shows_how_many_rows_are_new(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    # tests before this one may have added some to those that all share
    categories = (await app.call("GET", "/api/categories?pageSize=100", as_whom="acme")).json()["data"]["items"]
    # rows were made by the clock of the service, which tests move
    await page.clock.set_fixed_time(app.adapters.clock.now())
    await visitor.enter()
    navigation, main = page.get_by_role("navigation"), page.get_by_role("main")
    await expect(navigation).to_be_visible()
    # of 250 products the newest hundred are read, and of the categories all
    await expect(main.get_by_role("link", name="Products")).to_contain_text("100 new, the first")
    await expect(main.get_by_role("link", name="Categories")).to_contain_text(f"{len(categories)} new in 14 days")
    await expect(main.get_by_role("link", name="Members")).to_contain_text("new in 14 days")


async def test_a_row_of_a_service_with_a_fast_clock_is_counted_as_new(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    categories = (await app.call("GET", "/api/categories?pageSize=100", as_whom="acme")).json()["data"]["items"]
    await page.clock.set_fixed_time(app.adapters.clock.now() - timedelta(days=2))
    await visitor.enter()
    tile = page.get_by_role("main").get_by_role("link", name="Categories")
    await expect(tile).to_contain_text(f"{len(categories)} new in 14 days")
