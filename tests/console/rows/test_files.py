"""Files of every kind in the import: the service shows their columns, which are mapped to fields."""

import asyncio
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest
import xlsxwriter
from playwright.async_api import FilePayload, Route, expect

from tests.console.conftest import HOSTILE, Visitor
from tests.console.looks.test_accessibility import violations

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

ROWS = {"Bezeichnung": ["Tray", "Jug & <lid>"], "SKU": ["{}-1", "{}-2"], "Price": ["7.90", "12.50"]}


def columns(start: str) -> dict[str, list[str]]:
    return {name: [cell.format(start) for cell in cells] for name, cells in ROWS.items()}


def write_xlsx(file: Path, start: str) -> None:
    """A workbook with a cover, a hidden sheet, and the rows on a third, in texts that the cells share."""
    with xlsxwriter.Workbook(file) as book:
        book.add_worksheet("Cover & notes").write_row(0, 0, ["Nothing", HOSTILE])
        book.add_worksheet("Secret").hide()
        sheet = book.add_worksheet("Rows")
        for column, (name, cells) in enumerate(columns(start).items()):
            sheet.write_column(0, column, [name, *cells])


def write_parquet(file: Path, start: str) -> None:
    nested = [{"inner": [1, 2], "other": "x"}] * 2
    frame = pl.DataFrame({**columns(start), "details": nested})
    (frame if start == "NEST" else frame.drop("details")).write_parquet(file)


@pytest.mark.promise("console, journeys: Import with mapping and check, export")
async def test_a_sheet_of_a_workbook_is_chosen_mapped_and_imported(visitor: Visitor, tmp_path: Path) -> None:
    page, file = visitor.page, tmp_path / "trays.xlsx"
    write_xlsx(file, "XLSX")
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.get_by_label("Sheet").locator("option")).to_have_text(["Cover & notes", "Rows"])
    await expect(page.get_by_role("rowheader")).to_have_text(["Nothing", HOSTILE])
    await page.get_by_label("Sheet").select_option("Rows")
    await expect(page.get_by_role("rowheader")).to_have_text(["Bezeichnung", "SKU", "Price"])
    await expect(page.get_by_role("row", name="Bezeichnung")).to_contain_text("Tray · Jug & <lid>")
    assert await violations(visitor) == []
    await page.get_by_label("Field for the column Bezeichnung").select_option("name")
    await page.get_by_role("button", name="Check without saving").click()
    await page.get_by_role("button", name="Import 2 rows").click()
    await expect(page.get_by_role("heading", name="2 rows imported")).to_be_visible()


async def test_a_column_of_no_field_is_left_out(visitor: Visitor, tmp_path: Path) -> None:
    page, file = visitor.page, tmp_path / "remarks.csv"
    file.write_text("name,sku,price,Remarks\nTray,REMARKS-1,1.00,by hand\n")
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.get_by_role("alert")).to_contain_text("Remarks")
    await page.get_by_label("Field for the column Remarks").select_option("Leave the column out")
    await page.get_by_role("button", name="Check without saving").click()
    await page.get_by_role("button", name="Import 1 row").click()
    await expect(page.get_by_role("heading", name="1 row imported")).to_be_visible()


async def test_times_of_a_workbook_are_read_in_the_zone_that_is_chosen(visitor: Visitor, tmp_path: Path) -> None:
    page, file = visitor.page, tmp_path / "times.xlsx"
    with xlsxwriter.Workbook(file, {"default_date_format": "yyyy-mm-dd hh:mm"}) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, ["name", "sku", "price", "releasedAt"])
        sheet.write_row(1, 0, ["Timed", "TIMED-1", "1.00"])
        sheet.write_datetime(1, 3, datetime(2026, 7, 1, 12, 0))  # noqa: DTZ001  # a sheet's times have no zone
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files(file)
    zone = page.get_by_label("Time zone")
    await zone.fill("Europe/Nowhere")
    await page.get_by_role("button", name="Check without saving").click()
    await expect(page.get_by_role("alert")).to_contain_text("time zone")
    await zone.fill("Europe/Berlin")
    assert await violations(visitor) == []
    await page.get_by_role("button", name="Check without saving").click()
    await page.get_by_role("button", name="Import 1 row").click()
    await expect(page.get_by_role("heading", name="1 row imported")).to_be_visible()
    (row,) = (await visitor.service.app.call("GET", "/api/products?sku=TIMED-1", as_whom="acme")).json()["data"][
        "items"
    ]
    assert row["releasedAt"].startswith("2026-07-01T10:00:00")


@pytest.mark.promise("console, journeys: Import with mapping and check, export")
async def test_columns_of_a_parquet_file_are_mapped(visitor: Visitor, tmp_path: Path) -> None:
    page, file = visitor.page, tmp_path / "trays.parquet"
    write_parquet(file, "PARQUET")
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.get_by_role("rowheader")).to_have_text(["Bezeichnung", "SKU", "Price"])
    await expect(page.get_by_role("row", name="Bezeichnung")).to_contain_text("Tray · Jug & <lid>")
    await page.get_by_label("Field for the column Bezeichnung").select_option("name")
    await page.get_by_role("button", name="Check without saving").click()
    await page.get_by_role("button", name="Import 2 rows").click()
    await expect(page.get_by_role("heading", name="2 rows imported")).to_be_visible()


async def test_a_file_with_the_names_of_fields_is_checked_when_it_is_chosen(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products/import")
    lines = b"SKU;Name;Price;id\nFIRST-1;Tray;1.50;7\nbad;Jug;1.50;8\n"
    await page.locator("input[type=file]").set_input_files([FilePayload(name="a.csv", mimeType="", buffer=lines)])
    await expect(page.get_by_role("heading", name="1 row would be imported")).to_be_visible()
    await expect(page.get_by_role("region", name="What is wrong")).to_contain_text("SKU")
    await page.get_by_label("All rows or none").check()
    await page.get_by_role("button", name="Check without saving").click()
    await expect(page.get_by_role("heading", name="0 rows would be imported")).to_be_visible()
    await expect(page.get_by_role("button", name="Import", exact=False).last).to_be_disabled()
    await page.get_by_label("All rows or none").uncheck()
    await page.get_by_role("button", name="Check without saving").click()
    await page.get_by_role("button", name="Import 1 row").click()
    await expect(page.get_by_role("heading", name="1 row imported")).to_be_visible()


async def test_columns_with_the_titles_of_fields_are_mapped_to_them(visitor: Visitor) -> None:
    page = visitor.page
    await visitor.enter("rows/products/import")
    lines = b"SKU,Name,Price,Released at\nTITLE-1,Tray,1.50,2026-07-01T10:00:00Z\n"
    await page.locator("input[type=file]").set_input_files([FilePayload(name="a.csv", mimeType="", buffer=lines)])
    await expect(page.get_by_label("Field for the column Released at")).to_have_value("releasedAt")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await page.get_by_role("button", name="Check without saving").click()
    await page.get_by_role("button", name="Import 1 row").click()
    await expect(page.get_by_role("heading", name="1 row imported")).to_be_visible()


async def test_groups_count_as_one_column_and_a_broken_file_goes_by_its_names(visitor: Visitor, tmp_path: Path) -> None:
    page, file = visitor.page, tmp_path / "nested.parquet"
    write_parquet(file, "NEST")
    await visitor.enter("rows/products/import")
    chooser = page.locator("input[type=file]")
    await chooser.set_input_files(file)
    await expect(page.get_by_role("rowheader")).to_have_text([*ROWS, "details"])
    for name in ("broken.parquet", "broken.xlsx"):
        broken = tmp_path / name
        broken.write_bytes(file.read_bytes()[:-300] + b"PAR1" * 4)
        await expect(chooser).to_be_enabled()
        await chooser.set_input_files(broken)
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(page.get_by_text("The first row of the file names its columns")).to_be_visible()


@pytest.mark.promise("console, journeys: an import stores what was checked; files without rows say so")
async def test_nothing_of_an_import_changes_while_it_runs(visitor: Visitor) -> None:
    page, asked, may_go_on = visitor.page, list[str](), asyncio.Event()

    async def wait(route: Route) -> None:
        asked.append(route.request.url)
        await may_go_on.wait()
        await route.continue_()

    await page.route("**/api/products/import", wait)
    await visitor.enter("rows/products/import")
    chooser = page.locator("input[type=file]")
    lines = ["name,sku,price", *(f"Bulk {number},BULK-{number},1.50" for number in range(10_000))]
    rows = FilePayload(name="rows.csv", mimeType="text/csv", buffer="\n".join(lines).encode())
    await chooser.set_input_files([rows])
    await expect(chooser).to_be_disabled()
    await expect(page.get_by_label("All rows or none")).to_be_disabled()
    assert await violations(visitor) == []
    may_go_on.set()
    await expect(page.get_by_role("button", name="Import 10,000 rows")).to_be_enabled()
    await expect(chooser).to_be_enabled()
    may_go_on.clear()
    await page.get_by_role("button", name="Check without saving").click()
    await expect(chooser).to_be_disabled()
    await expect(page.get_by_label("Field for the column sku")).to_be_disabled()
    may_go_on.set()
    await expect(page.get_by_role("button", name="Import 10,000 rows")).to_be_enabled()
    assert len(asked) == 2


@pytest.mark.promise("console, journeys: an import stores what was checked; files without rows say so")
@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.csv", b"", "The file is empty"),
        ("blank.csv", b"\n\n", "The file is empty"),
        ("empty.xlsx", b"", "The file is empty"),
        ("picture.csv", b"\x89PNG\r\n\x1a\n\x00\xff", "begins as another format does"),
    ],
)
async def test_a_file_without_rows_says_so(visitor: Visitor, name: str, content: bytes, reason: str) -> None:
    page = visitor.page
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files([FilePayload(name=name, mimeType="", buffer=content)])
    await expect(page.get_by_role("alert")).to_contain_text(reason)
    await expect(page.get_by_role("button", name="Import", exact=True)).to_be_disabled()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-16"])
async def test_a_german_file_is_read_as_the_service_suggests(visitor: Visitor, tmp_path: Path, encoding: str) -> None:
    page, file = visitor.page, tmp_path / "german.csv"
    file.write_bytes(f"Preisliste\r\nname;sku;price\r\nGröße;GER-{encoding.upper()};1.250,50\r\n".encode(encoding))
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.get_by_role("row", name="name")).to_contain_text("Größe")
    await expect(page.get_by_label("Encoding")).to_have_value("windows-1252" if encoding == "cp1252" else "")
    await expect(page.get_by_label("Decimal sign")).to_have_value(",")
    await expect(page.get_by_label("Row with the names")).to_have_value("2")
    await page.get_by_role("button", name="Import 1 row").click()
    await expect(page.get_by_role("heading", name="1 row imported")).to_be_visible()


async def test_a_file_that_needs_no_option_shows_none(visitor: Visitor, tmp_path: Path) -> None:
    page, file = visitor.page, tmp_path / "plain.csv"
    file.write_text("name,sku,price\nTray,PLAIN-1,1.00\n")
    await visitor.enter("rows/products/import")
    await page.locator("input[type=file]").set_input_files(file)
    await expect(page.get_by_role("button", name="Import 1 row")).to_be_visible()
    await expect(page.get_by_label("Encoding")).to_have_count(0)
