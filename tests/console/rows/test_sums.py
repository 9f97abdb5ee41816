"""Sums and the chart below a grid: of the filtered rows, on request, by keys, in both themes and sizes."""

import pytest
from playwright.async_api import Route, expect

from tests.console.conftest import HOSTILE, NARROW, Visitor
from tests.console.looks.test_accessibility import violations_in_all_looks

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def summaries(visitor: Visitor) -> list[str]:
    return [request.url for request in visitor.requests if "/summary" in request.url]


@pytest.mark.promise(
    "console, journeys: Rows: count, sums and averages of the filtered rows below the grid, on request"
)
async def test_sums_follow_the_filters_and_are_only_fetched_on_request(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await expect(page.locator("p.foot")).to_contain_text("250 rows")
    assert summaries(visitor) == []
    await page.get_by_role("button", name="Sums and chart").click()
    sums = page.get_by_role("region", name="Sums and chart")
    await expect(sums).to_contain_text("Number of rows")
    await expect(sums.locator("dl")).to_contain_text("250")
    await expect(sums.locator("dl")).to_contain_text("Sum 31,250.00")
    await expect(sums.locator("dl")).to_contain_text("Average 125.0000")
    await visitor.go("rows/products?status=live&maxPrice=9.5")
    await expect(sums.locator("dl")).to_contain_text("Sum 27.50")
    assert len(summaries(visitor)) == 2
    await page.reload()
    await expect(sums.locator("dl")).to_contain_text("Sum 27.50")
    await visitor.go("rows/products?sku=none")
    await expect(page.get_by_text("No rows match")).to_be_visible()
    await expect(sums).to_have_count(0)


@pytest.mark.promise("console, journeys: Rows: a chart of groups by choice, reference, boolean or month")
async def test_the_chart_shows_a_group_of_each_kind(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_role("button", name="Sums and chart").focus()
    await page.keyboard.press("Enter")
    await page.get_by_label("Group by").select_option("Status")
    chart = page.get_by_role("table", name="Number of rows: Status")
    rows = chart.get_by_role("row")
    await expect(rows).to_have_text(["draft125", "live125"])
    await page.get_by_label("Show").select_option("Sum of Price")
    await expect(page.get_by_role("table", name="Sum of Price: Status").get_by_role("row")).to_have_text(
        ["live15,687.50", "draft15,562.50"]
    )
    await page.get_by_label("Group by").select_option("Category")
    await expect(page.get_by_role("rowheader", name=HOSTILE)).to_be_visible()
    await page.get_by_label("Group by").select_option("Created at, by month")
    await expect(page.get_by_role("table", name="Sum of Price: Created at").get_by_role("row")).to_have_count(1)
    await page.get_by_label("Group by").select_option("No chart")
    await expect(page.locator(".bars")).to_have_count(0)


@pytest.mark.promise(
    "console, accessibility and states: sums and chart below a grid: WCAG 2.2 AA, wide and narrow, both themes"
)
async def test_sums_and_chart_break_no_rule(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await page.get_by_role("button", name="Sums and chart").click()
    await page.get_by_label("Group by").select_option("Status")
    await expect(page.locator(".bars")).to_be_visible()
    assert await violations_in_all_looks(visitor) == []
    await page.set_viewport_size(NARROW)
    await page.get_by_role("button", name="Sums and chart").click()
    await expect(page.locator(".sums")).to_have_count(0)


async def test_a_refused_summary_shows_the_reason_and_can_be_repeated(visitor: Visitor) -> None:
    page = visitor.page
    answers = ["The summary takes too long: narrow the filters."]

    async def refuse_once(route: Route) -> None:
        if answers:
            error = {"code": "UNPROCESSABLE_ENTITY", "message": answers.pop()}
            await route.fulfill(status=422, json={"success": False, "error": error})
        else:
            await route.continue_()

    await page.route("**/summary?**", refuse_once)
    await visitor.enter("rows/products")
    await page.get_by_role("button", name="Sums and chart").click()
    problem = page.get_by_role("alert").filter(has_text="narrow the filters")
    await expect(problem).to_be_visible()
    await problem.get_by_role("button", name="Try again").click()
    await expect(page.locator(".sums dl")).to_contain_text("Sum 31,250.00")
