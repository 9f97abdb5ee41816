"""The pictures of the console in `docs/console`, made by `make screenshots`.

Rows, ids and times are the same each time: the application is on the memory adapters, and its clock and that of the
browser stand still.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from math import sin
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from tests.console.conftest import NARROW, Service, Visitor, free_port, serving
from tests.console.pictures import with_palette
from tests.http.app import ADMIN, PASSWORD, Json, TestApp, open_test_app

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "console"
WINDOW = ViewportSize(width=1400, height=868)
SCALE = 1000 / 1400  # a thousand pixels are as wide as a page of the documents
SHOWN = {"TENANTRY_BASE_URL": "http://localhost:8000", "TENANTRY_PASSKEY_ORIGINS": "http://localhost:8000"}
"""Settings on the picture of the system; the port is another one each time."""

PEOPLE = (
    "Ida Rhodes",
    "Grace Murray",
    "Karen Jones",
    "Alan Mathison",
    "Edsger Wybe",
    "Barbara Huberman",
    "Donald Ervin",
)
THINGS = (
    *("Reading chair", "Linen curtain", "Wall shelf", "Wool rug", "Ceramic mug", "Glass vase", "Brass hook"),
    *("Pine bench", "Cotton throw", "Copper kettle", "Umbrella stand", "Walnut stool", "Desk lamp", "Floor lamp"),
)
ROLES = {
    "Catalogue": ["read:*", "create:products", "update:products", "delete:products"],
    "Support": ["read:products", "read:reviews", "update:reviews", "read:users"],
    "Finance": ["read:*", "create:currencies", "update:currencies"],
}

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def email_of(name: str) -> str:
    return f"{name.split(maxsplit=1)[0].lower()}@acme.example"


async def made(app: TestApp, path: str, as_whom: str = "acme", **body: object) -> Json:
    answer = await app.call("POST", path, as_whom=as_whom, json=body)
    assert answer.status_code < 300, answer.text
    found = answer.json()
    data: Json = found.get("data", found)
    return data


async def fill(app: TestApp) -> None:
    """A tenant whose rows and people came over two weeks."""
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    for name, permissions in ROLES.items():
        await app.make_role("acme", name, permissions)
    for place, name in enumerate(PEOPLE):
        role = "Admin" if place == 0 else list(ROLES)[place % len(ROLES)]
        await made(
            app, "/api/users", "root in acme", email=email_of(name), fullName=name, password=PASSWORD, roles=[role]
        )
    await app.login("acme", email_of(PEOPLE[0]))
    categories = [
        (await made(app, "/api/categories", name=name))["id"] for name in ("Furniture", "Lights", "Textiles", "Kitchen")
    ]
    for day in range(9):
        app.clock.move(timedelta(days=1, minutes=7))
        await app.login("acme", email_of(PEOPLE[0]))
        items = [product(number, categories) for number in range(day * day, (day + 1) * (day + 1))]
        await made(app, "/api/products/batch", items=items)
    account = await made(app, "/api/service-accounts", name="Nightly import", roles=["Catalogue"])
    ends = app.clock.now() + timedelta(days=6, hours=1)
    await made(app, f"/api/service-accounts/{account['id']}/keys", name="Cron", expiresAt=ends.isoformat())
    jobs = app.services.job_results
    await jobs.record("backup", 48_200_000)
    await jobs.record("cleaning", 214)
    app.clock.move(timedelta(minutes=21))
    await jobs.record("tables", 0)
    await jobs.record("unusedFiles", 3)
    await jobs.record("domains", 0)


def product(number: int, categories: list[str]) -> Json:
    thing = THINGS[number % len(THINGS)]
    return {
        "name": f"{thing} {number // len(THINGS) + 1}",
        "sku": f"{thing[:3].upper()}-{number:03}",
        "price": f"{(number * 37) % 400 + 7}.50",
        "stock": number * 13 % 90,
        "status": ("live", "live", "draft", "live", "retired")[number % 5],
        "releasedAt": None if number % 5 == 2 else f"2026-{number % 10 + 1:02}-{number % 27 + 1:02}T09:00:00Z",
        "categoryId": categories[number % len(categories)],
        "description": "Made to order, and packed in recycled paper." if number % 3 else None,
    }


def traffic(now: datetime) -> list[Json]:
    """A day and a half, a point for each ten minutes."""
    return [
        {
            "at": (now - timedelta(minutes=10 * (216 - place))).isoformat(),
            "seconds": 600.0,
            "requests": int(900 * (1.1 + sin(place / 34))) + place * 7 % 60,
            "errors": 3 if place % 61 == 7 else 0,
            "refused": 20 + place % 30 if place % 43 == 11 else 0,
            "p50": 3.0,
            "p99": 14.0 + place * 5 % 9 + (60 if place % 71 == 5 else 0),
        }
        for place in range(216)
    ]


@asynccontextmanager
async def shown(
    service: Service, chromium: Browser, email: str, dark: bool = False, **window: object
) -> AsyncIterator[Page]:
    """A page of somebody who is signed in."""
    looks = {"viewport": WINDOW, "device_scale_factor": SCALE, "color_scheme": "dark" if dark else "light", **window}
    context = await chromium.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce", **looks)  # type: ignore[arg-type]  # of several types
    page = await context.new_page()
    service.let_time_pass()
    now = service.app.clock.now()
    # when somebody signs in, a little more time has passed
    await page.clock.set_fixed_time(now + timedelta(minutes=2))

    async def counted(route: Route) -> None:
        await route.fulfill(json={"success": True, "data": {"points": traffic(now)}})

    async def with_keys(route: Route) -> None:
        """Keys are other ones each time."""
        answer = await route.fetch()
        body = await answer.json()
        report = body.get("data", body)
        for place, key in enumerate(report["keys"]):
            key["id"] = f"key-{place + 1:02}"
        await route.fulfill(response=answer, json=body)

    await page.route("**/api/system/traffic", counted)
    await page.route("**/api/system", with_keys)
    await Visitor(service, context, page).enter(email=email)
    yield page
    await context.close()


async def picture(page: Page, name: str, path: str, ready: str) -> None:
    await page.evaluate(
        "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')) }",
        f"/console/{path}",
    )
    await expect(page.locator(ready).first).to_be_visible()
    await expect(page.locator(".loading, .waiting")).to_have_count(0)
    await page.evaluate("document.activeElement.blur()")
    await page.mouse.move(0, 0)
    # what was shown last is laid out and painted
    await page.evaluate("() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 200)))")
    (PICTURES / f"{name}.png").write_bytes(with_palette(await page.screenshot(animations="disabled")))


async def test_the_pictures_of_the_documents_are_made(chromium: Browser) -> None:
    app = await open_test_app(SHOWN)
    await fill(app)
    listed = await app.call("GET", "/api/products?sku=DES-068", as_whom="acme")
    row = listed.json()["data"]["items"][0]["id"]
    admin, home = email_of(PEOPLE[0]), f"http://localhost:{free_port()}"
    async with serving(app, home):
        service = Service(app, home)
        async with shown(service, chromium, admin) as page:
            await picture(page, "home", "", ".tile .spark")
            await picture(page, "grid", "rows/products", "tbody a")
            await picture(page, "row", f"rows/products/{row}", ".saving")
        async with shown(service, chromium, admin, dark=True) as page:
            await picture(page, "roles", "roles", "table.matrix")
        async with shown(service, chromium, admin, viewport=NARROW, device_scale_factor=1) as page:
            await picture(page, "narrow", "rows/products", "tbody a")
        async with shown(service, chromium, ADMIN, dark=True) as page:
            await picture(page, "system", "system", ".plot")
    assert all(path.stat().st_size < 40_000 for path in PICTURES.iterdir()), "a picture is too large"
