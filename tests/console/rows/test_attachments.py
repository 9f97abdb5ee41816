"""Fields with files: put a photo on a row, see it, replace it, remove it, and arrange documents."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec import Struct
from playwright.async_api import Browser, Error, FilePayload, Locator, Page, Route, expect

from domain.entities.attachments.marks import attachment, attachments
from domain.entities.markers import entity
from tests.console.conftest import WIDE, Service, Visitor, free_port, serving
from tests.console.looks.test_accessibility import violations_in_all_looks
from tests.console.rows.test_nothing_lost import made
from tests.http.app import ADMIN, Json, TestApp, open_test_app
from tests.http.entities.attachments.desk import png

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@entity("lamps", columns=["name", "photo_id", "document_ids"])
class Lamp(Struct, rename="camel", kw_only=True):
    name: str
    photo_id: Annotated[UUID | None, attachment(["image/png"], 20_000, thumbnails={"small": (128, 128)})] = None
    document_ids: Annotated[list[UUID], attachments(["text/plain"], 20_000, limit=3)] = []


BOSS = "boss@acme.example"


@dataclass
class Shop:
    visitor: Visitor
    app: TestApp
    lamp: str

    @property
    def page(self) -> Page:
        return self.visitor.page

    async def stored(self) -> Json:
        answer = await self.app.call("GET", f"/api/lamps/{self.lamp}?include=photo,documents", as_whom="acme")
        row: Json = answer.json()["data"]
        return row

    async def save(self) -> None:
        # the message of the save before may still be shown
        async with self.page.expect_response(lambda answer: answer.request.method == "PATCH") as saved:
            await self.page.get_by_role("button", name="Save").press("Enter")
        assert (await saved.value).ok


@pytest_asyncio.fixture
async def shop(chromium: Browser) -> AsyncIterator[Shop]:
    app = await open_test_app({"TENANTRY_PASSKEY_RP_ID": "localhost"}, (Lamp,))
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    await app.make_user("acme", BOSS, ["Admin"])
    await app.login("acme", BOSS)
    lamp = await made(app, "/api/lamps", name="Desk lamp")
    home = f"http://localhost:{free_port()}"
    context = await chromium.new_context(viewport=WIDE, locale="en-GB")
    context.set_default_timeout(60_000)
    async with serving(app, home):
        visitor = Visitor(Service(app, home), context, await context.new_page())
        visitor.watch(visitor.page)
        yield Shop(visitor, app, lamp)
        await context.close()
    await app.client.aclose()
    assert visitor.complaints == []


def picture(name: str, width: int = 60) -> FilePayload:
    return FilePayload(name=name, mimeType="image/png", buffer=png(width, 40))


def text(name: str, content: str = "some text") -> FilePayload:
    return FilePayload(name=name, mimeType="text/plain", buffer=content.encode())


async def choose(page: Page, button: str, *files: FilePayload) -> None:
    """By the key Enter on the button of a field."""
    async with page.expect_file_chooser() as opened:
        await page.get_by_role("button", name=button).press("Enter")
    await (await opened.value).set_files(list(files))


async def drop(target: Locator, file: FilePayload) -> None:
    """As from a folder of the computer."""
    made = """([name, type, bytes]) => {
        const dropped = new DataTransfer();
        dropped.items.add(new File([new Uint8Array(bytes)], name, {type}));
        return dropped;
    }"""
    dropped = await target.page.evaluate_handle(made, [file["name"], file["mimeType"], list(file["buffer"])])
    for event in ("dragover", "drop"):
        await target.dispatch_event(event, {"dataTransfer": dropped})


async def is_drawn(image: Locator, width: int) -> None:
    await expect(image).to_have_js_property("naturalWidth", width)


@pytest.mark.promise("console, journeys: a photo is put on a row, shown, replaced and removed, by keyboard")
async def test_a_photo_is_put_on_a_row_and_replaced_and_removed_by_keyboard(shop: Shop) -> None:
    page = shop.page
    await shop.visitor.enter(f"rows/lamps/{shop.lamp}", BOSS)
    group = page.get_by_role("group", name="Photo")
    await choose(page, "Photo: Choose a file", picture("one.png"))
    await expect(group.get_by_role("listitem")).to_contain_text("one.png")
    # the picture is shown before the row is saved
    await is_drawn(group.locator("img.preview"), 60)
    await expect(group.get_by_role("button", name="one.png", exact=True)).to_have_count(0)
    await shop.save()
    assert (await shop.stored())["photo"]["name"] == "one.png"
    assert await violations_in_all_looks(shop.visitor) == []

    await shop.visitor.go("rows/lamps")
    await is_drawn(page.get_by_role("img", name="one.png"), 60)
    await expect(page.locator("thead th .icon")).not_to_have_count(0)

    await shop.visitor.open(f"rows/lamps/{shop.lamp}")
    # through a link now
    await is_drawn(group.locator("img.preview"), 60)
    assert "/files/" in (await group.locator("img.preview").get_attribute("src") or "")
    async with page.expect_popup() as opened:
        await group.get_by_role("button", name="one.png", exact=True).press("Enter")
    await (await opened.value).wait_for_url("**/files/*")
    await choose(page, "Photo: Replace", picture("two.png", 30))
    await expect(group.get_by_role("listitem")).to_contain_text("two.png")
    await shop.save()
    assert (await shop.stored())["photo"]["name"] == "two.png"

    await group.get_by_role("button", name="Remove two.png").press("Enter")
    await expect(page.get_by_role("button", name="Photo: Choose a file")).to_be_focused()
    await shop.save()
    assert (await shop.stored())["photoId"] is None


async def refuse(route: Route) -> None:
    """Answers as a service that creates too many thumbnails."""
    await route.fulfill(status=503)


@pytest.mark.promise("console, journeys: a photo is dropped on a product, with progress, a preview and a thumbnail")
async def test_a_dropped_photo_shows_its_progress_then_a_preview_and_a_thumbnail(shop: Shop) -> None:
    page = shop.page
    await shop.visitor.enter(f"rows/lamps/{shop.lamp}", BOSS)
    group = page.get_by_role("group", name="Photo")
    is_on, arrived = asyncio.Event(), asyncio.Event()

    async def delayed(route: Route) -> None:
        arrived.set()
        await is_on.wait()
        with suppress(Error):  # the console has stopped the first upload
            await route.continue_()

    await page.route("**/api/files?*", delayed)
    await drop(group, picture("wide.png", 300))
    progress = group.get_by_role("progressbar", name="wide.png")
    await expect(progress).to_be_visible()
    await arrived.wait()
    await group.get_by_role("button", name="Stop").press("Enter")
    await expect(progress).to_have_count(0)
    await expect(group.get_by_role("listitem")).to_have_count(0)
    await drop(group, picture("wide.png", 300))
    await expect(progress).to_be_visible()
    is_on.set()
    await is_drawn(group.locator("img.preview"), 300)
    await expect(progress).to_have_count(0)
    await shop.save()
    assert (await shop.stored())["photo"]["name"] == "wide.png"
    await page.route("**/files/*", refuse, times=1)
    await shop.visitor.go("rows/lamps")
    await is_drawn(page.get_by_role("img", name="wide.png"), 128)


@pytest.mark.promise("console, journeys: a photo is put on a row, shown, replaced and removed, by keyboard")
async def test_documents_are_added_and_arranged_by_keys_and_by_dragging(shop: Shop) -> None:
    page = shop.page
    await shop.visitor.enter(f"rows/lamps/{shop.lamp}", BOSS)
    group = page.get_by_role("group", name="Documents")
    names = group.locator("li .name > :first-child")
    # the large file is the last to arrive, and stays the first
    await choose(page, "Documents: Add files", text("a.txt", "a" * 19_000), text("b.txt"))
    await expect(names).to_have_text(["a.txt", "b.txt"])
    await choose(page, "Documents: Add files", text("c.txt"), text("d.txt"))
    await expect(group.get_by_role("alert")).to_contain_text("3 files at most")
    await expect(names).to_have_text(["a.txt", "b.txt", "c.txt"])
    grip = group.get_by_role("button", name="Move c.txt", exact=True)
    await grip.press("ArrowUp")
    await expect(names).to_have_text(["a.txt", "c.txt", "b.txt"])
    await expect(grip).to_be_focused()
    await group.locator("li", has_text="b.txt").drag_to(group.locator("li", has_text="a.txt"))
    await expect(names).to_have_text(["b.txt", "a.txt", "c.txt"])
    assert await violations_in_all_looks(shop.visitor) == []
    await shop.save()
    assert [file["name"] for file in (await shop.stored())["documents"]] == ["b.txt", "a.txt", "c.txt"]
    await group.get_by_role("button", name="Remove a.txt").press("Enter")
    await shop.save()
    await shop.visitor.go("rows/lamps")
    await expect(page.locator("tbody .badge")).to_have_text(["b.txt", "c.txt"])
    # cells with files are not edited in their place: a double click opens the row
    await page.locator("tbody .badge").first.dblclick()
    await expect(page.get_by_role("group", name="Documents")).to_be_visible()
    await expect(page.locator("form.editor")).to_have_count(0)


async def test_refused_files_are_explained(shop: Shop) -> None:
    page = shop.page
    await shop.visitor.enter(f"rows/lamps/{shop.lamp}", BOSS)
    group = page.get_by_role("group", name="Photo")
    await choose(page, "Photo: Choose a file", FilePayload(name="page.png", mimeType="image/png", buffer=b"<html>"))
    await expect(group.get_by_role("alert")).to_contain_text("Accepted types: image/png")
    large = FilePayload(name="large.png", mimeType="image/png", buffer=bytes(20_001))
    await choose(page, "Photo: Choose a file", large)
    await expect(group.get_by_role("alert")).to_have_text("large.png: the file may have 20 kB at most.")
    await expect(group.get_by_role("listitem")).to_have_count(0)
    assert (await shop.stored())["photoId"] is None


async def test_a_duplicate_has_no_files(shop: Shop) -> None:
    page = shop.page
    await shop.visitor.enter(f"rows/lamps/{shop.lamp}", BOSS)
    await choose(page, "Photo: Choose a file", picture("one.png"))
    await expect(page.get_by_role("group", name="Photo").get_by_role("listitem")).to_be_visible()
    await shop.save()
    await shop.visitor.open(f"rows/lamps/new?~copy={shop.lamp}")
    await expect(page.locator("input[name=name]")).to_have_value("Desk lamp (copy)")
    await expect(page.get_by_role("group", name="Photo").get_by_role("listitem")).to_have_count(0)
    # a file is uploaded for a row that is not there yet, which is saved with the file and not before
    is_on = asyncio.Event()

    async def delayed(route: Route) -> None:
        await is_on.wait()
        await route.continue_()

    await page.route("**/api/files?*", delayed)
    await choose(page, "Photo: Choose a file", picture("new.png"))
    await expect(page.get_by_role("group", name="Photo")).to_contain_text("new.png")
    create = page.get_by_role("button", name="Create")
    await expect(create).to_be_disabled()
    is_on.set()
    await expect(create).to_be_enabled()
    await create.click()
    await shop.visitor.said("Created.")
    listed = await shop.app.call("GET", "/api/lamps?include=photo&sort=name", as_whom="acme")
    assert [row["photo"]["name"] for row in listed.json()["data"]["items"]] == ["one.png", "new.png"]
