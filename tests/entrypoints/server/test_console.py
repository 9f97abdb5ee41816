"""The console of a service that runs as its users run it: processes, PostgreSQL, Redis."""

import pytest
from playwright.async_api import async_playwright, expect

from tests.entrypoints.processes import PASSWORD, Serve, Served
from tests.http.docs.test_docs_page import BROWSER, FLAGS

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine: the console is not driven"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.mark.promise(
    "console, journeys: a newcomer makes, changes and deletes a first row, on services and on the embedded servers"
)
async def test_a_newcomer_makes_a_first_row(serve: Serve, migrated: dict[str, str]) -> None:
    await make_first_row(serve(**migrated))


@pytest.mark.promise(
    "console, journeys: a newcomer makes, changes and deletes a first row, on services and on the embedded servers"
)
async def test_a_newcomer_makes_a_first_row_on_the_embedded_servers(serve: Serve) -> None:
    service = serve(ADMIN_PASSWORD=PASSWORD)
    # browsers know no passkeys of an address
    assert f"Console: {service.url.replace('127.0.0.1', 'localhost')}/console" in service.words
    await make_first_row(service)


async def make_first_row(service: Served) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, headless=True, args=FLAGS)
        page = await browser.new_page()
        complaints: list[str] = []
        page.on("pageerror", lambda error: complaints.append(str(error)))
        await page.goto(f"{service.url}/")
        await page.get_by_label("E-mail").fill("admin@example.com")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.keyboard.press("Enter")
        await page.get_by_role("navigation").get_by_role("link", name="Products").click()
        await page.get_by_role("link", name="New").first.click()
        for label, text in (("Name", "Kettle"), ("SKU", "KET-1"), ("Price", "39.90")):
            await page.get_by_label(label).fill(text)
        await page.get_by_role("button", name="Create").click()
        await expect(page.get_by_role("heading", name="Kettle")).to_be_visible()
        await page.get_by_label("Price").fill("41.50")
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.locator(".toasts")).to_contain_text("Saved.")
        await page.get_by_role("button", name="Delete").click()
        await page.locator("dialog").get_by_role("button", name="Delete").click()
        await page.get_by_role("button", name="Restore").click()
        await expect(page.locator(".toasts")).to_contain_text("1 row restored.")
        await page.get_by_role("link", name="Products").first.click()
        await expect(page.get_by_role("row", name="Kettle")).to_contain_text("41.50")
        await page.reload()
        await expect(page.get_by_role("row", name="Kettle")).to_be_visible()
        await page.get_by_role("button", name="Sign out").click()
        await expect(page.get_by_label("Password")).to_be_visible()
        assert complaints == []
        await browser.close()
