"""Webhooks in the console: made, tested, changed, deliveries sent again, the secret replaced, deleted; by keyboard."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Literal

import pytest
import pytest_asyncio
from msgspec import Meta, Struct
from playwright.async_api import Browser, Page, expect

from adapters.memory.outgoing import MemoryRequests
from application.ports.outgoing import Reply
from domain.entities.markers import entity
from tests.console.conftest import WIDE, Service, Visitor, free_port, serving
from tests.console.looks.test_accessibility import violations_in_all_looks
from tests.http.app import ADMIN, PASSWORD, TestApp, open_test_app

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

BOSS, READER = "boss@acme.example", "reader@acme.example"
URL = "https://erp.example/hooks"


@entity("orders", changes=True, soft_delete=True)
class Order(Struct, rename="camel", kw_only=True):
    number: Annotated[str, Meta(max_length=40)]
    status: Literal["open", "paid"] = "open"


@entity("parcels", changes=True)
class Parcel(Struct, rename="camel", kw_only=True):
    label: str


@entity("notes")
class Note(Struct, rename="camel", kw_only=True):
    """An entity without a feed."""

    text: str


@dataclass
class Desk:
    visitor: Visitor
    app: TestApp

    @property
    def page(self) -> Page:
        return self.visitor.page

    @property
    def outgoing(self) -> MemoryRequests:
        outgoing = self.app.adapters.webhooks.outgoing
        assert isinstance(outgoing, MemoryRequests)
        return outgoing

    async def call(self, method: str, path: str, body: object = None) -> None:
        answer = await self.app.call(method, path, as_whom="acme", json=body)
        assert answer.is_success, answer.text

    async def deliver(self) -> None:
        while await self.app.services.fan_out.fan_out():
            pass
        while await self.app.services.deliverer.deliver():
            await self.app.services.deliverer.settle()

    def times_sent(self, number: str) -> int:
        """Return how often the creation of an order was sent."""
        return sum(number in sent.body.decode() for sent in self.outgoing.sent)

    async def make(self, **given: object) -> str:
        accounts = await self.app.call("GET", "/api/service-accounts", as_whom="acme")
        account = accounts.json()["data"]["items"][0]["id"]
        body = {"url": URL, "serviceAccountId": account, "events": ["orders.*"], **given}
        made = await self.app.call("POST", "/api/webhooks", as_whom="acme", json=body)
        assert made.status_code == 201, made.text
        return str(made.json()["data"]["id"])


@pytest_asyncio.fixture
async def desk(chromium: Browser) -> AsyncIterator[Desk]:
    app = await open_test_app({"TENANTRY_PASSKEY_RP_ID": "localhost"}, (Order, Parcel, Note), counts_limits=False)
    await app.login("root", ADMIN)
    await app.make_tenant("acme")
    await app.make_user("acme", BOSS, ["Admin"])
    await app.make_role("acme", "Reader of webhooks", ["read:webhooks", "read:orders"])
    await app.make_user("acme", READER, ["Reader of webhooks"])
    await app.login("acme", BOSS)
    robot = {"name": "ERP", "roles": ["Admin"]}
    assert (await app.call("POST", "/api/service-accounts", as_whom="acme", json=robot)).status_code == 201
    home = f"http://localhost:{free_port()}"
    context = await chromium.new_context(viewport=WIDE, locale="en-GB")
    context.set_default_timeout(60_000)
    async with serving(app, home):
        visitor = Visitor(Service(app, home), context, await context.new_page())
        visitor.watch(visitor.page)
        yield Desk(visitor, app)
        await context.close()
    await app.client.aclose()
    assert visitor.complaints == []


@pytest.mark.promise("console, journeys: Webhooks are made, tested, replayed and deleted")
async def test_the_form_of_a_webhook_shows_errors_at_their_fields(desk: Desk) -> None:
    page = desk.page
    await desk.visitor.enter("", BOSS)
    await page.locator("nav.side").get_by_role("link", name="Webhooks").click()
    await expect(page.get_by_text("A webhook sends changes of rows to a URL")).to_be_visible()
    assert await violations_in_all_looks(desk.visitor) == []
    await page.get_by_role("button", name="Add webhook").click()
    dialog = page.get_by_role("dialog", name="Add webhook")
    await dialog.get_by_label("URL").fill("https://intranet.internal")
    await dialog.get_by_label("Service account").select_option(label="ERP")
    await dialog.get_by_role("button", name="Add webhook").click()
    # an error of one event is at the group of all
    await expect(dialog.get_by_role("group", name="Events")).to_have_accessible_description("is required")
    orders = dialog.get_by_role("group", name="Orders")
    await orders.get_by_label("all events").check()
    await expect(orders.get_by_label("changed")).to_be_disabled()
    parcels = dialog.get_by_role("group", name="Parcels")
    await parcels.get_by_label("deleted", exact=True).check()
    await expect(dialog.get_by_role("group", name="Notes")).to_have_count(0)
    await dialog.get_by_role("button", name="Add webhook").click()
    await expect(dialog.get_by_label("URL")).to_have_attribute("aria-invalid", "true")
    assert await violations_in_all_looks(desk.visitor) == []


@pytest.mark.promise("console, journeys: Webhooks are made, tested, replayed and deleted")
async def test_the_secret_of_a_new_webhook_is_shown_once(desk: Desk) -> None:
    page = desk.page
    await desk.visitor.enter("webhooks", BOSS)
    await page.get_by_role("button", name="Add webhook").click()
    dialog = page.get_by_role("dialog", name="Add webhook")
    await dialog.get_by_label("URL").fill(URL)
    await dialog.get_by_label("Service account").select_option(label="ERP")
    await dialog.get_by_role("group", name="Orders").get_by_label("all events").check()
    await dialog.get_by_role("group", name="Parcels").get_by_label("deleted", exact=True).check()
    await dialog.get_by_text("Members, roles and the tenant").click()
    await dialog.get_by_label("member joined").check()
    await dialog.get_by_role("button", name="Add webhook").click()
    shown = page.get_by_role("dialog", name="The secret")
    secret = await shown.locator("pre").inner_text()
    assert secret.startswith("whsec_")
    # what is shown once does not close by a key that was pressed too often
    await page.keyboard.press("Escape")
    await expect(shown.get_by_role("button", name="Copy")).to_be_visible()
    await shown.get_by_role("button", name="Close").click()
    await expect(page.get_by_role("heading", level=1, name="erp.example")).to_be_visible()
    await expect(page.locator("dl.facts").first).to_contain_text("Orders: all events")
    await expect(page.locator("dl.facts").first).to_contain_text("Parcels: deleted")
    await expect(page.locator("dl.facts").first).to_contain_text("member joined")
    await expect(page.get_by_text(secret)).to_have_count(0)
    stored = (await desk.app.call("GET", "/api/webhooks", as_whom="acme")).json()["data"]
    assert [webhook["events"] for webhook in stored] == [["orders.*", "parcels.deleted", "member.joined"]]


@pytest.mark.promise("console, journeys: Webhooks are made, tested, replayed and deleted")
async def test_a_webhook_is_tested_by_keyboard(desk: Desk) -> None:
    page = desk.page
    await desk.make(description="The ERP")
    await desk.visitor.enter("webhooks", BOSS)
    await page.get_by_role("link", name=URL).focus()
    await page.keyboard.press("Enter")
    test = page.get_by_role("button", name="Send a test")
    await test.focus()
    await page.keyboard.press("Enter")
    answered = page.get_by_role("dialog", name="Send a test")
    await expect(answered).to_contain_text("The receiver answered 200")
    assert json.loads(desk.outgoing.sent[-1].body)["type"] == "webhook.test"
    await page.keyboard.press("Escape")
    await expect(test).to_be_focused()
    desk.outgoing.answer = lambda sent: Reply(503, None)
    await page.keyboard.press("Enter")
    await expect(answered).to_contain_text("The receiver answered 503")
    await expect(answered).to_contain_text("Only a status from 200 to 299")
    await page.keyboard.press("Escape")


@pytest.mark.promise("console, journeys: Webhooks are made, tested, replayed and deleted")
async def test_a_webhook_is_changed_and_deleted_by_keyboard(desk: Desk) -> None:
    page = desk.page
    webhook = await desk.make(description="The ERP")
    await desk.visitor.enter(f"webhooks/{webhook}", BOSS)
    await page.get_by_role("button", name="Edit").focus()
    await page.keyboard.press("Enter")
    form = page.get_by_role("dialog", name="Edit webhook")
    await expect(form.get_by_label("Signature")).to_have_count(0)
    await form.get_by_role("group", name="Orders").get_by_label("all events").focus()
    await page.keyboard.press("Space")
    await form.get_by_role("group", name="Orders").get_by_label("restored").focus()
    await page.keyboard.press("Space")
    await form.get_by_label("Content").select_option("thin")
    await form.get_by_role("button", name="Save").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("dl.facts")).to_contain_text("Orders: restored")
    await expect(page.locator("dl.facts")).to_contain_text("Only id and version")
    await page.get_by_role("button", name="Delete").focus()
    await page.keyboard.press("Enter")
    question = page.get_by_role("dialog", name=f"Delete the webhook to {URL}?")
    await question.get_by_role("button", name="Delete").focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("A webhook sends changes of rows to a URL")).to_be_visible()


@pytest.mark.promise("console, journeys: Webhooks are made, tested, replayed and deleted")
async def test_deliveries_are_filtered_and_sent_again(desk: Desk) -> None:
    page = desk.page
    webhook = await desk.make()
    await desk.call("POST", "/api/orders", {"number": "A-1"})
    await desk.deliver()
    desk.outgoing.answer = lambda sent: Reply(500, None)
    await desk.call("POST", "/api/orders", {"number": "A-2"})
    await desk.deliver()
    await desk.visitor.enter("webhooks", BOSS)
    row = page.get_by_role("row", name=URL)
    await expect(row).to_contain_text("failing")
    assert await violations_in_all_looks(desk.visitor) == []
    await page.goto(f"{desk.visitor.home}/console/webhooks/{webhook}")
    await expect(page.get_by_text("The receiver accepts no deliveries.")).to_be_visible()
    deliveries = page.locator("section", has=page.get_by_role("heading", name="Deliveries")).locator("tbody tr")
    await expect(deliveries).to_have_count(2)
    assert await violations_in_all_looks(desk.visitor) == []
    await page.get_by_label("State").select_option("delivered")
    await expect(deliveries).to_have_count(1)
    await expect(deliveries).to_contain_text("200")
    desk.outgoing.answer = lambda sent: Reply(204, None)
    await deliveries.get_by_role("button", name="Send again").click()
    await desk.visitor.said("The delivery will be sent again.")
    await desk.deliver()
    assert desk.times_sent("A-1") == 2


@pytest.mark.promise("console, journeys: Webhooks are made, tested, replayed and deleted")
async def test_events_of_a_time_are_replayed(desk: Desk) -> None:
    page = desk.page
    webhook = await desk.make()
    await desk.call("POST", "/api/orders", {"number": "A-1"})
    await desk.deliver()
    await desk.visitor.enter(f"webhooks/{webhook}", BOSS)
    deliveries = page.locator("section", has=page.get_by_role("heading", name="Deliveries")).locator("tbody tr")
    await expect(deliveries).to_contain_text("200")
    desk.outgoing.answer = lambda sent: Reply(204, None)
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Replay events").click()
    dialog = page.get_by_role("dialog", name="Replay events")
    await dialog.get_by_label("From").fill("2020-01-01T00:00")
    await dialog.get_by_role("button", name="Replay").click()
    await desk.visitor.said("The events will be sent.")
    await desk.deliver()
    assert desk.times_sent("A-1") == 2
    await page.get_by_role("button", name="Reload").click()
    await expect(deliveries).to_contain_text("204")


@pytest.mark.promise("console, journeys: Webhooks are made, tested, replayed and deleted")
async def test_a_new_secret_needs_a_recent_proof(desk: Desk) -> None:
    page = desk.page
    webhook = await desk.make()
    await desk.visitor.enter(f"webhooks/{webhook}", BOSS)
    desk.app.clock.move(timedelta(minutes=11))
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Replace the secret").click()
    await page.get_by_role("dialog").get_by_role("button", name="Replace the secret").click()
    proof = page.locator("dialog:has(input[type=password])")
    await proof.get_by_label("Password").fill(PASSWORD)
    await page.keyboard.press("Enter")
    shown = page.get_by_role("dialog", name="The secret")
    await expect(shown.locator("pre")).to_contain_text("whsec_")
    await shown.get_by_role("button", name="Close").click()


async def test_a_disabled_webhook_says_why_and_is_activated(desk: Desk) -> None:
    page = desk.page
    webhook = await desk.make(signature="v1a")
    desk.outgoing.answer = lambda sent: Reply(410, None)
    await desk.call("POST", "/api/orders", {"number": "A-1"})
    await desk.deliver()
    await desk.visitor.enter(f"webhooks/{webhook}", BOSS)
    await expect(page.get_by_role("status").filter(has_text="The service disabled this webhook.")).to_be_visible()
    await expect(page.locator("dl.facts")).to_contain_text("whpk_")
    assert await violations_in_all_looks(desk.visitor) == []
    await page.get_by_role("button", name="Activate").click()
    await expect(page.locator(".head .badge")).to_have_text("ok")


async def test_readers_of_webhooks_see_them_and_change_nothing(desk: Desk) -> None:
    page = desk.page
    webhook = await desk.make(events=["parcels.*"])
    await desk.visitor.enter("webhooks", READER)
    # the name of the entity is not readable, and its plural is part of the pattern
    await expect(page.get_by_role("row", name=URL)).to_contain_text("parcels: all events")
    await expect(page.get_by_role("button", name="Add webhook")).to_have_count(0)
    await desk.visitor.go(f"webhooks/{webhook}")
    await expect(page.get_by_role("heading", level=1, name="erp.example")).to_be_visible()
    for name in ("Edit", "Send a test", "Delete", "More"):
        await expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
    assert await violations_in_all_looks(desk.visitor) == []
