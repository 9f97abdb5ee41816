"""Own rows, members and links: the button "Mine", what limited callers read, pickers with initials and chips."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec import Struct
from playwright.async_api import Browser, Page, expect

from domain.entities.markers import entity, links, member, mine
from tests.console.conftest import WIDE, Service, Visitor, free_port, serving
from tests.console.looks.test_accessibility import violations_in_all_looks
from tests.console.rows.test_nothing_lost import made
from tests.http.app import ADMIN, TestApp, open_test_app

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@entity("tags")
class Tag(Struct, rename="camel", kw_only=True):
    name: str


@entity(
    "tasks", own=[mine("created_by"), mine("assignee_id")], shared=True, columns=["title", "assignee_id", "tag_ids"]
)
class Task(Struct, rename="camel", kw_only=True):
    title: str
    assignee_id: Annotated[UUID | None, member(on_leave="clear")] = None
    tag_ids: Annotated[list[UUID], links("tags")] = []


@entity("notes", own=[mine("created_by")])
class Note(Struct, rename="camel", kw_only=True):
    text: str


BOSS, CLERK, VIEWER = "boss@acme.example", "clerk@acme.example", "viewer@acme.example"
ROLES = {
    BOSS: ["*"],
    CLERK: ["read:tags", "read:members", "create:tasks", "read-own:tasks", "update-own:tasks", "read-own:notes"],
    VIEWER: ["read:tasks", "read:tags", "update-own:tasks", "delete-own:tasks"],
}


@dataclass
class Office:
    visitor: Visitor
    app: TestApp
    tasks: dict[str, str]
    """Ids by title: each task has the title of its creator and assignee."""

    @property
    def page(self) -> Page:
        return self.visitor.page


async def furnished(app: TestApp) -> dict[str, str]:
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    ids = {}
    for email, permissions in ROLES.items():
        name = email.split("@")[0]
        role = "Admin" if email == BOSS else name.title()
        if email != BOSS:
            await app.make_role("acme", role, permissions)
        ids[name] = await app.make_user("acme", email, [role])
        body = {"fullName": f"{name.title()} Ann"}
        await app.login(name, email)
        assert (await app.call("PUT", "/api/auth/me", as_whom=name, json=body)).status_code == 200
    await app.login("acme", BOSS)
    tags = [await made(app, "/api/tags", name=name) for name in ("urgent", "quiet", "later")]
    tasks = {
        "for nobody": await made(app, "/api/tasks", title="for nobody", tagIds=tags[:2]),
        "for the clerk": await made(app, "/api/tasks", title="for the clerk", assigneeId=ids["clerk"]),
        "for the boss": await made(app, "/api/tasks", title="for the boss", assigneeId=ids["boss"]),
    }
    body = {"title": "by the clerk"}
    answer = await app.call("POST", "/api/tasks", as_whom="clerk", json=body)
    assert answer.status_code == 201, answer.text
    return tasks | {"by the clerk": answer.json()["data"]["id"]}


@pytest_asyncio.fixture
async def office(chromium: Browser) -> AsyncIterator[Office]:
    app = await open_test_app({"TENANTRY_PASSKEY_RP_ID": "localhost"}, (Tag, Task, Note))
    tasks = await furnished(app)
    home = f"http://localhost:{free_port()}"
    context = await chromium.new_context(viewport=WIDE, locale="en-GB")
    context.set_default_timeout(60_000)
    async with serving(app, home):
        visitor = Visitor(Service(app, home), context, await context.new_page())
        visitor.watch(visitor.page)
        yield Office(visitor, app, tasks)
        await context.close()
    await app.client.aclose()
    assert visitor.complaints == []


async def titles(office: Office, *expected: str) -> None:
    await expect(office.page.locator("tbody tr")).to_have_count(len(expected))
    for title in expected:
        await expect(office.page.locator("tbody")).to_contain_text(title)


@pytest.mark.promise("console, journeys: own rows are a filter, and limited callers read so")
async def test_mine_narrows_to_the_rows_of_the_caller_by_keyboard(office: Office) -> None:
    page = office.page
    await office.visitor.enter("rows/tasks", BOSS)
    await titles(office, *office.tasks)
    await page.get_by_role("button", name="Mine").press("Enter")
    menu = page.locator(".popover .menu")
    await menu.get_by_role("button", name="Assignee").press("Enter")
    await titles(office, "for the boss")
    await expect(page.locator(".chip strong")).to_have_text("me")
    await menu.get_by_role("button", name="Created by").press("Enter")
    await titles(office, *(set(office.tasks) - {"by the clerk"}))
    await menu.get_by_role("button", name="Created by").press("Enter")
    await titles(office, *office.tasks)
    await page.keyboard.press("Escape")
    await expect(page.get_by_text("only your own rows")).to_have_count(0)
    # one rule needs no menu
    await office.visitor.go("rows/notes")
    mine_only = page.get_by_role("button", name="Mine")
    await mine_only.click()
    await expect(page).to_have_url(f"{office.visitor.home}/console/rows/notes?createdBy=me")
    await expect(mine_only).to_have_attribute("aria-pressed", "true")
    await office.visitor.go("rows/tags")
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Tags")
    await expect(mine_only).to_have_count(0)


async def test_a_caller_limited_to_own_rows_reads_so(office: Office) -> None:
    page = office.page
    await office.visitor.enter("rows/tasks", CLERK)
    await titles(office, "for the clerk", "by the clerk")
    await expect(page.get_by_text("only your own rows")).to_be_visible()
    await expect(page.get_by_role("button", name="Mine")).to_have_count(0)
    assert await violations_in_all_looks(office.visitor) == []


async def test_a_refused_change_of_another_row_is_explained(office: Office) -> None:
    page = office.page
    await office.visitor.enter(f"rows/tasks/{office.tasks['for the boss']}", VIEWER)
    await page.locator("input[name=title]").fill("taken")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("You may read this row but not change it")
    await expect(page.locator("input[name=title]")).to_have_value("taken")


@pytest.mark.promise("console, journeys: members and links are found by their names")
async def test_a_member_is_chosen_by_name(office: Office) -> None:
    page = office.page
    await office.visitor.enter(f"rows/tasks/{office.tasks['by the clerk']}", CLERK)
    picker = page.get_by_role("combobox", name="Assignee")
    await picker.fill("boss")
    option = page.get_by_role("option", name="Boss Ann")
    await expect(option.locator(".initials")).to_have_text("BA")
    await picker.press("Enter")
    chosen = page.get_by_role("group", name="Assignee")
    await expect(chosen).to_contain_text("Boss Ann")
    assert await violations_in_all_looks(office.visitor) == []
    await page.get_by_role("button", name="Save").click()
    await office.visitor.said("Saved.")
    await office.visitor.go("rows/tasks")
    await expect(page.locator("tbody")).to_contain_text("Boss Ann")


async def test_links_are_added_and_removed_in_their_order(office: Office) -> None:
    page = office.page
    await office.visitor.enter(f"rows/tasks/{office.tasks['for nobody']}", BOSS)
    chips = page.locator("form .chip bdi")
    await expect(chips).to_have_text(["urgent", "quiet"])
    await expect(page.get_by_role("group", name="Parts of this row").get_by_role("link")).to_have_text(["Fields"])
    picker = page.get_by_role("combobox", name="Tags")
    await picker.press("ArrowDown")
    await expect(page.get_by_role("option")).to_have_text(["later"])
    await picker.press("Enter")
    await expect(chips).to_have_text(["urgent", "quiet", "later"])
    await page.get_by_role("button", name="Remove urgent").press("Enter")
    await expect(chips).to_have_text(["quiet", "later"])
    assert await violations_in_all_looks(office.visitor) == []
    await page.get_by_role("button", name="Save").click()
    await office.visitor.said("Saved.")
    await office.visitor.go("rows/tasks")
    row = page.locator("tbody tr", has_text="for nobody")
    await expect(row.locator(".badge")).to_have_text(["quiet", "later"])


async def test_links_are_a_filter_with_names(office: Office) -> None:
    page = office.page
    await office.visitor.enter("rows/tasks", BOSS)
    await page.get_by_role("button", name="Filter").click()
    await page.get_by_label("Field").select_option("tagIds")
    await page.get_by_role("combobox", name="Value").click()
    await page.get_by_role("option", name="urgent").click()
    await page.get_by_role("button", name="Add filter").click()
    await expect(page.locator(".chips .chip strong")).to_have_text("urgent")
    await titles(office, "for nobody")


async def shares_of(office: Office, title: str) -> list[tuple[str, str]]:
    found = await office.app.call("GET", f"/api/tasks/{office.tasks[title]}/shares", as_whom="acme")
    return [(share["fullName"], share["level"]) for share in found.json()["data"]["items"]]


@pytest.mark.promise("console, journeys: a row is shared with members, by those who may share it")
async def test_a_row_is_shared_by_keyboard(office: Office) -> None:
    page = office.page
    await office.visitor.enter(f"rows/tasks/{office.tasks['for nobody']}", BOSS)
    await page.get_by_role("button", name="Share").press("Enter")
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("combobox", name="Share with").fill("clerk")
    await expect(dialog.locator(".picker [role=option]")).to_have_text(["CAClerk Ann"])
    await page.keyboard.press("Enter")
    await expect(dialog.get_by_role("group", name="Share with")).to_be_focused()
    await dialog.get_by_role("button", name="Share", exact=True).press("Enter")
    level = dialog.get_by_label("Level of Clerk Ann")
    await expect(level).to_have_value("read")
    assert await shares_of(office, "for nobody") == [("Clerk Ann", "read")]
    assert await violations_in_all_looks(office.visitor) == []
    async with page.expect_response(lambda answer: answer.request.method == "GET" and "/shares" in answer.url):
        await level.select_option("may change")
    assert await shares_of(office, "for nobody") == [("Clerk Ann", "update")]
    await dialog.get_by_role("button", name="Remove Clerk Ann").press("Enter")
    await expect(level).to_have_count(0)
    assert await shares_of(office, "for nobody") == []
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name="Share")).to_be_focused()


async def test_a_refused_share_is_explained(office: Office) -> None:
    page = office.page
    await office.visitor.enter(f"rows/tasks/{office.tasks['for nobody']}", BOSS)
    await page.get_by_role("button", name="Share").click()
    dialog = page.get_by_role("dialog")
    picker = dialog.get_by_role("combobox", name="Share with")
    await picker.click()
    # a row is not shared with oneself
    await expect(dialog.locator(".picker [role=option]")).to_have_text(["CAClerk Ann", "VAViewer Ann"])
    await picker.fill("clerk")
    await dialog.get_by_role("option", name="Clerk Ann").click()
    path = f"/api/tasks/{office.tasks['for nobody']}"
    assert (await office.app.call("DELETE", path, as_whom="acme")).status_code < 300
    await dialog.get_by_role("button", name="Share", exact=True).click()
    await expect(dialog.get_by_role("alert").first).to_be_visible()


async def test_those_who_may_not_share_see_no_button(office: Office) -> None:
    page = office.page
    await office.visitor.enter(f"rows/tasks/{office.tasks['by the clerk']}", CLERK)
    await expect(page.get_by_role("button", name="Save")).to_be_visible()
    await expect(page.get_by_role("button", name="Share")).to_have_count(0)
