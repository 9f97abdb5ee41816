"""A German price list: imported, two rows mended, and the change of a price found and undone."""

import csv
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.console.conftest import Visitor
from tests.console.looks.test_accessibility import violations

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

LIST = Path(__file__).resolve().parents[1] / "cases" / "preisliste.csv"
FIELDS = {
    "Bezeichnung": "name",
    "Artikelnummer": "sku",
    "Preis": "price",
    "Bestand": "stock",
    "Beschreibung": "description",
}


@pytest.mark.promise("console, journeys: a German file is imported, mended, and the change of a price undone")
async def test_a_german_list_is_imported_mended_and_a_price_restored(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    await visitor.enter("rows/products")
    await check_the_list(visitor, tmp_path / "report.csv")
    await page.get_by_role("button", name="Import 3 rows").click()
    await expect(page.get_by_role("heading", name="3 rows imported")).to_be_visible()
    # the mended file has all rows: those that are stored already are left out
    mended = tmp_path / "mended.csv"
    text = LIST.read_text("cp1252").replace("zwölf", "12,00").replace("löffel 1", "LOE-1").replace("viele", "90")
    mended.write_bytes(text.encode("cp1252"))
    visitor.service.let_time_pass()  # mending takes longer than the minute that the limit of imports counts
    await expect(page.locator("input[type=file]")).to_be_enabled()
    await page.locator("input[type=file]").set_input_files(mended)
    await page.get_by_role("button", name="Import 2 rows").click()
    await expect(page.get_by_role("heading", name="2 rows imported")).to_be_visible()
    await undo_the_change_of_a_colleague(visitor)


async def check_the_list(visitor: Visitor, report: Path) -> None:
    """Chooses the file, and saves the report: a line for each wrong field."""
    page = visitor.page
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("button", name="Import").click()
    await page.locator("input[type=file]").set_input_files(LIST)
    for column, field in FIELDS.items():
        await expect(page.get_by_label(f"Field for the column {column}")).to_have_value(field)
    await expect(page.get_by_label("Encoding")).to_have_value("windows-1252")
    await expect(page.get_by_label("Decimal sign")).to_have_value(",")
    await expect(page.get_by_role("heading", name="3 rows would be imported")).to_be_visible()
    assert await violations(visitor) == []
    # two rows are refused, with a line for each field
    async with page.expect_download() as started:
        await page.get_by_role("button", name="Download the report").click()
    await (await started.value).save_as(report)
    with report.open(encoding="utf-8-sig", newline="") as lines:
        refused = [(line["Row"], line["Field"]) for line in csv.DictReader(lines)]
    assert sorted(refused) == [("4", "Price"), ("5", "SKU"), ("5", "Stock")]


async def undo_the_change_of_a_colleague(visitor: Visitor) -> None:
    page, app = visitor.page, visitor.service.app
    listed = await app.call("GET", "/api/products?sku=KAN-1", as_whom="acme")
    (row,) = listed.json()["data"]["items"]
    assert (row["name"], row["price"]) == ("Kännchen", 19.9)
    await app.make_user("acme", "grace@acme.example", ["Admin"])
    await app.login("grace", "grace@acme.example")
    await app.call("PATCH", f"/api/products/{row['id']}", as_whom="grace", json={"price": 91.9})
    await page.get_by_role("link", name="See the rows").click()
    await page.get_by_role("gridcell", name="KAN-1").click()
    beside = page.get_by_role("complementary", name="Product")
    await expect(beside.get_by_label("Price")).to_have_value("91.90")
    await beside.get_by_role("link", name="History").click()
    change = beside.locator(".timeline > li").first
    await expect(change).to_contain_text("Somebody Else")
    await expect(change.locator("del")).to_have_text("19.90")
    await change.get_by_role("button", name="Undo this change").click()
    await page.get_by_role("dialog").get_by_role("button", name="Undo this change").click()
    await visitor.said("The change is undone.")
    found = await app.call("GET", f"/api/products/{row['id']}", as_whom="acme")
    assert found.json()["data"]["price"] == 19.9
