"""What a user sees after the service has ended a stream, or no longer stores the changes to resume from."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from playwright.async_api import expect

from adapters.memory.upkeep import MemoryUpkeep
from application.entities.changes.streams.open_stream import Ending
from domain.retention import DatedRecords
from tests.console.rows.live.office import CLERK, Office, reads, streams

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.mark.promise("console, journeys: A stream that the service ends is resumed without a reload")
@pytest.mark.parametrize("why", ["behind", "moved"])
async def test_a_stream_that_the_service_ends_is_resumed(office: Office, why: Ending) -> None:
    await office.open()
    before = reads(office.boss)
    for stream in office.app.services.streams._open:
        stream.end(why)
    await office.change("A-2", price="8.00")
    await office.add("A-9")
    await expect(office.row("A-2")).to_contain_text("8.00")
    await expect(office.fresh).to_have_text("1 new row")
    await office.is_live()
    assert (reads(office.boss), streams(office.boss)) == (before, 2)


@pytest.mark.promise("console, journeys: A stream that the service ends is resumed without a reload")
async def test_a_stream_of_an_expired_token_continues_with_a_new_one(office: Office) -> None:
    await office.open()
    before = reads(office.boss)
    async with office.page.expect_request("**/console/session/refresh"):
        # the service accepts the token for some seconds more
        office.app.clock.move(timedelta(minutes=60, seconds=2))
    await office.app.login("acme", CLERK)
    await office.change("A-2", price="8.00")
    await expect(office.row("A-2")).to_contain_text("8.00")
    await office.is_live()
    assert (reads(office.boss), streams(office.boss)) == (before, 2)


@pytest.mark.promise("console, journeys: After a network failure a list equals a fresh page")
async def test_a_list_is_read_again_when_its_changes_are_no_longer_stored(office: Office) -> None:
    await office.open()
    async with forgotten_changes(office):
        await office.change("A-1", price="8.00")
        await office.delete("A-2")
        await office.add("A-9")
    await expect(office.row("A-9")).to_be_visible()
    await expect(office.row("A-1")).to_contain_text("8.00")
    await expect(office.row("A-2")).to_have_count(0)
    await expect(office.fresh).to_have_count(0)
    await office.change("A-3", price="9.00")
    await expect(office.row("A-3")).to_contain_text("9.00")


async def test_an_open_row_is_read_again_when_its_changes_are_no_longer_stored(office: Office) -> None:
    page = office.page
    await office.open(f"rows/orders/{office.orders['A-1']}")
    async with forgotten_changes(office):
        await office.change("A-1", price="2.00")
    await expect(page.get_by_label("Price")).to_have_value("2.00")
    await page.get_by_label("Price").fill("7.00")
    async with forgotten_changes(office):
        await office.change("A-1", price="3.00")
    await expect(page.get_by_label("Price")).to_have_value("7.00")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("dialog")).to_contain_text("3.00")


@asynccontextmanager
async def forgotten_changes(office: Office) -> AsyncIterator[None]:
    """A browser without a network, during changes that the log no longer has afterwards."""
    await office.boss.context.set_offline(True)
    await expect(office.page.locator(".live.off")).to_be_visible()
    yield
    assert await MemoryUpkeep(office.app.database).forget(DatedRecords.CHANGES, office.app.clock.now(), 1_000)
    await office.boss.context.set_offline(False)
    await office.is_live()
