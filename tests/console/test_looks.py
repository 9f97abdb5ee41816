"""What readers see at first sight: the service's own fields in their language, what is only read, what comes first."""

import re

import pytest
from playwright.async_api import Route, ViewportSize, expect

from tests.console.conftest import Visitor

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.parametrize(
    ("language", "columns", "kept"),
    [
        ("en", ["Action", "When", "By", "Target", "Address", "Request"], "Created at"),
        ("de", ["Aktion", "Wann", "Wer", "Ziel", "Adresse", "Anfrage"], "Angelegt am"),
    ],
)
async def test_fields_that_the_service_keeps_are_named_in_the_language_of_the_reader(
    visitor: Visitor, language: str, columns: list[str], kept: str
) -> None:
    page, app = visitor.page, visitor.service.app
    row = (await app.call("GET", "/api/products?pageSize=1", as_whom="acme")).json()["data"]["items"][0]
    await visitor.open()
    await page.evaluate("language => localStorage.setItem('tenantry.language', language)", language)
    await visitor.enter("audit")
    await expect(page.get_by_role("columnheader")).to_have_text([re.compile(f"^{name}") for name in columns])
    await visitor.go(f"rows/products/{row['id']}")
    await expect(page.locator(".facts dt").filter(has_text=kept)).to_be_visible()


async def test_the_time_of_an_event_is_in_sight_without_scrolling(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("audit")
    await page.set_viewport_size(ViewportSize(width=1024, height=700))
    box = await page.get_by_role("columnheader", name="When").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 1024


async def test_fields_that_are_only_read_look_it(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    await visitor.service.renew_tokens()
    await app.make_role("acme", "Looker", ["read:products"])
    await app.make_user("acme", "looker@acme.example", ["Looker"])
    row = (await app.call("GET", "/api/products?pageSize=1", as_whom="acme")).json()["data"]["items"][0]
    shades = []
    for email in ("admin@acme.example", "looker@acme.example"):
        await visitor.enter(f"rows/products/{row['id']}", email)
        name = page.get_by_label("Name", exact=False).first
        await expect(name).to_have_value(row["name"])
        shades.append(await name.evaluate("field => getComputedStyle(field).backgroundColor"))
    assert shades[0] != shades[1]


@pytest.mark.parametrize(("language", "name"), [("en", "Signed in"), ("de", "Angemeldet")])
async def test_the_latest_events_fit_a_telephone_in_words(visitor: Visitor, language: str, name: str) -> None:
    page = visitor.page
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.open()
    await page.evaluate("language => localStorage.setItem('tenantry.language', language)", language)
    await visitor.enter()
    action = page.locator(".action", has_text=name).first
    await expect(action).to_be_visible()
    # rectangles of the letters of a word lie in one line
    lines = await action.evaluate(
        """words => {
          const range = document.createRange()
          range.selectNodeContents(words)
          return new Set([...range.getClientRects()].map(box => box.top)).size
        }"""
    )
    assert lines <= len(name.split())
    time = await page.locator("section time").first.bounding_box()
    assert time is not None
    assert time["x"] + time["width"] <= 360


async def test_what_is_not_saved_yet_can_be_read_on_a_telephone(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    row = (await app.call("GET", "/api/products?pageSize=1", as_whom="acme")).json()["data"]["items"][0]
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.open()
    await page.evaluate("localStorage.setItem('tenantry.language', 'de')")
    await visitor.enter(f"rows/products/{row['id']}")
    await page.get_by_label("Price").fill("2.00")
    box = await page.get_by_text("Noch nicht gespeichert: Price").bounding_box()
    assert box is not None
    assert box["x"] + box["width"] <= 360
    assert box["height"] < 30, "each word stands in a line of its own"


async def test_a_service_account_tells_its_roles_apart_from_its_description(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    body = {"name": "Robot", "description": "nightly", "roles": ["Reader", "Member"]}
    account = (await app.call("POST", "/api/service-accounts", as_whom="acme", json=body)).json()["data"]["id"]
    await visitor.enter(f"keys/{account}")
    await expect(page.locator(".tags bdi")).to_have_text(["Member", "Reader"])


async def test_who_may_nothing_in_a_tenant_is_told_so(visitor: Visitor) -> None:
    page = visitor.page
    user = await visitor.service.app.make_user("acme", "nobody@acme.example", [])
    await visitor.enter(f"people/{user}")
    await expect(page.get_by_text("No permissions in this tenant.")).to_be_visible()
    await page.get_by_label("Permission").fill("no such thing")
    await expect(page.get_by_text("Nothing found")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_box_that_is_only_read_looks_it(visitor: Visitor, theme: str) -> None:
    page = visitor.page
    await visitor.open()
    await page.evaluate("theme => localStorage.setItem('tenantry.theme', theme)", theme)
    await visitor.enter("roles")
    row = page.get_by_role("row", name="read:products")
    opacity = "box => Number(getComputedStyle(box).opacity)"
    assert await row.locator("input:disabled").first.evaluate(opacity) < 0.5
    assert await row.locator("input:enabled").first.evaluate(opacity) == 1


async def declare(route: Route) -> None:
    """The description of products as a colour that may be none, and their stock with the bounds of 64 bits."""
    answer = await route.fetch()
    body = await answer.json()
    (products,) = (entity for entity in body["data"]["entities"] if entity["plural"] == "products")
    fields = {field["name"]: field for field in products["fields"]}
    fields["description"].update(widget="color", nullable=True, rules={})
    fields["stock"]["rules"] = {"minimum": -(2**63), "maximum": 2**63 - 1}
    await route.fulfill(response=answer, json=body)


async def test_a_colour_can_be_none_and_no_bound_is_told_that_nobody_declared(visitor: Visitor) -> None:
    page = visitor.page
    await page.route("**/api/entities", declare)
    await visitor.enter("rows/products/new")
    colour = page.get_by_label("Description", exact=True)
    await expect(colour).to_have_value("")
    await page.get_by_label("Choose the colour Description").fill("#aa3355")
    await expect(colour).to_have_value("#aa3355")
    await colour.fill("")
    await expect(page.get_by_label("Stock")).to_have_accessible_description("")


async def test_a_telephone_shows_more_than_one_column(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.enter("rows/products")
    box = await page.get_by_role("columnheader", name="SKU").bounding_box()
    assert box is not None
    assert box["x"] <= 300
