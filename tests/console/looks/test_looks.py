"""What readers see at first sight: the service's own fields in their language, what is only read, what comes first.

The console on a telephone of 360 pixels with contents that nobody expects: nothing widens the page.
"""

import re

import pytest
from playwright.async_api import Browser, Route, ViewportSize, expect

from tests.console.conftest import Service, Visitor
from tests.console.looks.test_accessibility import violations
from tests.console.rows.test_nothing_lost import made
from tests.http.app import ADMIN, PASSWORD

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.parametrize(
    ("language", "columns", "kept"),
    [
        ("en", ["Action", "When", "By", "Target", "Address", "Request"], "Created at"),
        ("de", ["Aktion", "Wann", "Wer", "Ziel", "Adresse", "Anfrage"], "Angelegt am"),
    ],
)
async def test_fields_set_by_the_service_are_labelled_in_the_language_of_the_reader(
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


async def test_unsaved_changes_are_readable_on_a_telephone(visitor: Visitor) -> None:
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


async def test_a_service_account_lists_its_roles_separately_from_its_description(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    body = {"name": "Robot", "description": "nightly", "roles": ["Reader", "Member"]}
    account = (await app.call("POST", "/api/service-accounts", as_whom="acme", json=body)).json()["data"]["id"]
    await visitor.enter(f"keys/{account}")
    await expect(page.locator(".tags bdi")).to_have_text(["Member", "Reader"])


async def test_a_member_without_permissions_is_shown_as_such(visitor: Visitor) -> None:
    page = visitor.page
    user = await visitor.service.app.make_user("acme", "nobody@acme.example", [])
    await visitor.enter(f"people/{user}")
    await expect(page.get_by_text("No permissions in this tenant.")).to_be_visible()
    await page.get_by_label("Permission", exact=True).fill("no such thing")
    await expect(page.get_by_text("Nothing found")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
async def test_a_box_that_is_only_read_looks_it(visitor: Visitor, theme: str) -> None:
    page = visitor.page
    await visitor.open()
    await page.evaluate("theme => localStorage.setItem('tenantry.theme', theme)", theme)
    await visitor.enter("roles")
    await page.get_by_label("Show each permission").check()
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


async def test_a_colour_can_be_empty_and_only_declared_bounds_are_described(visitor: Visitor) -> None:
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


HOSTILE = ("<script>alert(1)</script>" * 4, "w" * 100, "\u202eمصباح " * 12)
WIDER = "document.documentElement.scrollWidth - innerWidth"


@pytest.mark.promise(
    "console, accessibility and states: 360 pixels with markup, endless words and right-to-left names: nothing widens "
    "a page"
)
@pytest.mark.parametrize("name", HOSTILE, ids=["markup", "one word", "right to left"])
async def test_no_content_widens_a_page(visitor: Visitor, name: str) -> None:
    page, app = visitor.page, visitor.service.app
    category = await made(app, "/api/categories", name=name, description="d" * 2_000)
    row_id = await made(
        app, "/api/products", name=name, sku="W" * 32, price="1.00", categoryId=category, description="w" * 10_000
    )
    # people are refused names with marks of writing direction
    full_name = name.replace("\u202e", "")
    body = {"email": f"{'e' * 60}@acme.example", "password": PASSWORD, "fullName": full_name, "roles": ["Reader"]}
    member = await app.call("POST", "/api/users", as_whom="root in acme", json=body)
    assert member.status_code == 201, member.text
    role = {"name": "r" * 50, "description": name, "permissions": ["read:products"]}
    assert (await app.call("POST", "/api/roles", as_whom="acme", json=role)).status_code == 201
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.enter()
    for path in (
        f"rows/products?categoryId.eq={category}&~columns=name,description,categoryId",
        f"rows/products/{row_id}",
        f"rows/products/{row_id}?tab=history",
        "rows/products/import",
        "people",
        f"people/{member.json()['data']['id']}",
        "roles",
        "settings",
        "",
    ):
        await visitor.open(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.locator(".loading")).to_have_count(0)
        assert await page.evaluate(WIDER) <= 0, path
    await visitor.open("rows/products")
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Export").click()
    box = await page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert 0 <= box["x"] <= 360 - box["width"]


SCROLLING = """() => [...document.querySelectorAll("main *")]
  .filter(box => getComputedStyle(box).overflowX === "auto" && box.scrollWidth > box.clientWidth)
  .filter(box => box.checkVisibility())
  .map(box => box.className)"""


async def administered(visitor: Visitor) -> str:
    """A member, an invitation, a domain and a service account with a key, all with long names; returns the account."""
    app = visitor.service.app
    body = {
        "email": f"{'e' * 60}@acme.example",
        "password": PASSWORD,
        "fullName": "Ada" + " Lovelace" * 9,
        "roles": ["Reader"],
    }
    answers = [
        await app.call("POST", "/api/users", as_whom="root in acme", json=body),
        await app.call("POST", "/api/roles", as_whom="acme", json={"name": "r" * 50, "permissions": []}),
    ]
    invitation = {"email": f"{'i' * 60}@new.example", "roles": ["Reader", "r" * 50]}
    domain = {"domain": f"{'d' * 60}.example", "mode": "request"}
    account = {"name": "Robot" + " of the shop" * 4, "roles": ["Reader", "r" * 50]}
    for path, json in (
        ("/api/invitations", invitation),
        ("/api/tenants/current/domains", domain),
        ("/api/service-accounts", account),
    ):
        answers.append(await app.call("POST", path, as_whom="acme", json=json))
    account_id: str = answers[-1].json()["data"]["id"]
    key = {"name": "Key" + " of a door" * 4, "permissions": ["read:products"]}
    answers.append(await app.call("POST", f"/api/service-accounts/{account_id}/keys", as_whom="acme", json=key))
    assert [answer.status_code for answer in answers] == [201] * len(answers)
    return account_id


@pytest.mark.promise(
    "console, accessibility and states: the same of lists of the administration: none scrolls sideways, and each is a "
    "table to those who listen"
)
@pytest.mark.parametrize("language", ["en", "de"])
async def test_no_list_of_the_administration_scrolls_sideways(visitor: Visitor, language: str) -> None:
    page = visitor.page
    account = await administered(visitor)
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.open()
    await page.evaluate("language => localStorage.setItem('tenantry.language', language)", language)
    await visitor.enter()
    for path in ("people", "people?tab=invitations", "keys", f"keys/{account}", "settings"):
        await visitor.open(path)
        await expect(page.locator("table.stacked tbody tr").first).to_be_visible()
        await expect(page.locator(".loading")).to_have_count(0)
        assert await page.evaluate(WIDER) <= 0, path
        assert await page.evaluate(SCROLLING) == [], path
    assert await violations(visitor) == []
    # it is still a table to those who listen
    await visitor.open("keys")
    role = "Rollen" if language == "de" else "Roles"
    assert f'columnheader "{role}"' in await page.get_by_role("table").aria_snapshot()


@pytest.mark.promise(
    "console, accessibility and states: the same of lists of the administration: none scrolls sideways, and each is a "
    "table to those who listen"
)
async def test_the_service_is_administered_on_a_telephone(visitor: Visitor) -> None:
    page = visitor.page
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.enter(email=ADMIN)
    for path in ("tenants", "system"):
        await visitor.open(path)
        await expect(page.locator("table.stacked tbody tr").first).to_be_visible()
        await expect(page.locator(".loading")).to_have_count(0)
        assert await page.evaluate(WIDER) <= 0, path
        assert await page.evaluate(SCROLLING) == [], path


async def test_permissions_stay_in_sight_while_the_roles_scroll_on_a_telephone(visitor: Visitor) -> None:
    page = visitor.page
    made = await visitor.service.app.call(
        "POST", "/api/roles", as_whom="acme", json={"name": "Last", "permissions": []}
    )
    assert made.status_code == 201, made.text
    await page.set_viewport_size(ViewportSize(width=360, height=780))
    await visitor.enter("roles")
    await page.get_by_label("Show each permission").check()
    row = page.get_by_role("row", name="delete:products")
    await row.get_by_role("checkbox").last.scroll_into_view_if_needed()
    name = await row.get_by_role("rowheader").bounding_box()
    assert name is not None
    assert 0 <= name["x"] <= 360 - name["width"]
    # a box that gets the focus is not behind the name
    first = row.get_by_role("checkbox", name="Last: delete:products")
    await first.focus()
    box = await first.bounding_box()
    assert box is not None
    assert box["x"] >= name["x"] + name["width"]


@pytest.mark.promise(
    "console, accessibility and states: on a telephone, whose browser zooms out of what is too wide, every screen has "
    "the width of the window"
)
async def test_every_screen_fits_the_width_of_a_telephone(service: Service, chromium: Browser) -> None:
    """Browsers of telephones show a page that is too wide as a whole, and small: there the window grows with it."""
    for number in range(30):
        await service.app.make_role("acme", f"Role {number:02} with a long name", ["read:products"])
    context = await chromium.new_context(
        viewport=ViewportSize(width=360, height=740), is_mobile=True, has_touch=True, locale="en-GB"
    )
    visitor = Visitor(service, context, await context.new_page())
    await visitor.enter()
    page = visitor.page
    columns = "name,sku,price,status,categoryId,stock,createdAt,updatedAt,description"
    for path in ("", "roles", f"rows/products?~columns={columns}", "rows/products/new", "people", "audit", "account"):
        await visitor.go(path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        await expect(page.locator(".loading")).to_have_count(0)
        assert await page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [360, 360], path
    # nor does a swipe beyond the end of the matrix move anything but the matrix
    await visitor.go("roles")
    box = page.locator(".matrix-box")
    assert await box.evaluate("box => getComputedStyle(box).overscrollBehaviorX") == "contain"
    await context.close()
