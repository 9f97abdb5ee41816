"""Filters of the grid are read as people chose them, and not as the API spells them."""

import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.test_nothing_lost import made

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise("console, journeys: Filters are read as they were chosen")
async def test_chips_show_names_dates_and_answers(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    lamps, chairs = [await made(app, "/api/categories", name=name) for name in ("Lamps", "Chairs")]
    email = "filters@acme.example"
    await app.make_user("acme", email, ["Admin"])
    admin = (await app.call("GET", "/api/auth/me", as_whom="acme")).json()["data"]["id"]
    filters = {
        f"categoryId.eq={lamps}": "Lamps",
        f"categoryId.in={lamps},{chairs}": "Lamps, Chairs",
        f"createdBy.eq={admin}": "Somebody Else",
        "releasedAt.gte=2026-01-02T10:00:00Z": "2 Jan 2026",
        "categoryId.isNull=false": "no",
        "stock.lt=5": "5",
        "releasedAt.lt=soon": "soon",
    }
    await visitor.enter(f"rows/products?{'&'.join(filters)}", email)
    chips = page.locator(".chip strong")
    await expect(chips).to_have_count(len(filters))
    for at, text in enumerate(filters.values()):
        await expect(chips.nth(at)).to_contain_text(text)
    name = page.get_by_role("button", name="Lamps, Chairs")
    await name.click()
    await expect(chips).to_have_count(len(filters) - 1)
