"""Names of uploaded files: the service takes nothing from them.

Columns of imported files: which ones are taken, passed over and refused, and what a dry run says about them.
"""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import xlsxwriter

from tests.http.app import Json, TestApp
from tests.http.entities.files.test_transfers import LAMP, send, skus

BOUNDARY = "a-boundary"
NAMES = [
    "../../../../etc/cron.d/tenantry",
    "/tmp/tenantry-named-by-a-client",
    "..\\..\\windows.csv",
    "rows.csv\x00.xlsx",
    "rows.xlsx",
    "rows.php",
    "%2e%2e%2frows.csv",
    "x" * 4_000,
    "=cmd|' /C calc'!A0.csv",
    "\u202evsc.swor",
]


def upload(name: str) -> bytes:
    told = name.replace('"', "%22")
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="{told}"\r\n\r\n'
    return head.encode() + b"name\nGarden\n" + f"\r\n--{BOUNDARY}--\r\n".encode()


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
async def test_no_name_of_an_upload_is_used(
    app: TestApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = await app.call("POST", "/api/categories/import", as_whom="acme", headers=headers, content=upload(name))
    # A name that the form cannot hold is refused; every other one is passed over, its ending too.
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 200:
        assert answer.json()["data"]["imported"] == 1
    assert name not in json.dumps(answer.json())
    assert made_in(tmp_path) == []


def made_in(folder: Path) -> list[Path]:
    """Files in the folder, and those outside of it that the names stand for."""
    outside = [Path("/tmp/tenantry-named-by-a-client"), Path("/etc/cron.d/tenantry")]
    return [*folder.iterdir(), *(path for path in outside if path.exists())]


async def test_only_the_service_names_an_export(app: TestApp) -> None:
    for query in ("filename=../x", "format=csv%22%0d%0aSet-Cookie:%20a=b"):
        answer = await app.call("GET", f"/api/categories/export?{query}", as_whom="acme")
        assert answer.status_code == 400
        assert "set-cookie" not in answer.headers
    answer = await app.call("GET", "/api/categories/export?format=csv", as_whom="acme")
    assert answer.headers["content-disposition"].startswith('attachment; filename="categories-')


async def test_an_upsert_without_a_column_of_its_key_is_refused(app: TestApp) -> None:
    refused = await send(app, "name,price\r\nLamp,1\r\n", options={"mode": "upsert"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "VALIDATION_ERROR")
    assert [wrong["field"] for wrong in refused.json()["error"]["details"]] == ["options.key"]
    assert await skus(app) == []


async def test_an_unknown_column_below_a_relation_is_refused(app: TestApp) -> None:
    header = "name,sku,price,category.name,category.nmae,reviews.text"
    refused = await send(app, f"{header}\r\nLamp,LAMP-1,1,Lamps,x,y\r\n")
    assert refused.status_code == 400
    assert [wrong["field"] for wrong in refused.json()["error"]["details"]] == ["category.nmae", "reviews.text"]
    taken = await send(app, "name,sku,price,category.name\r\nLamp,LAMP-1,1,Lamps\r\n")
    assert taken.json()["data"]["imported"] == 1


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
async def test_a_file_exported_with_included_rows_can_be_imported_again(app: TestApp, form: str) -> None:
    category = await app.call("POST", "/api/categories", as_whom="acme", json={"name": "Lamps"})
    body = {"name": "Lamp", "sku": "LAMP-1", "price": 1, "categoryId": category.json()["data"]["id"]}
    await app.call("POST", "/api/products", as_whom="acme", json=body)
    file = await app.call("GET", f"/api/products/export?format={form}&include=category", as_whom="acme")
    again = await send(app, file.content, options={"mode": "upsert"})
    assert (again.status_code, again.json()["data"]["errors"]) == (200, []), again.text


@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
async def test_a_column_is_left_out(app: TestApp, form: str) -> None:
    body = {"name": "Lamp", "sku": "LAMP-1", "price": 1, "description": "Old"}
    path = (await app.call("POST", "/api/products", as_whom="acme", json=body)).headers["Location"]
    file = await app.call("GET", f"/api/products/export?format={form}&fields=sku,name,description", as_whom="acme")
    await app.call("PATCH", path, as_whom="acme", json={"name": "Bulb", "description": "New"})
    options = {"mode": "upsert", "columns": {"Description": None}}
    taken = await send(app, file.content, options=options)
    assert (taken.json()["data"]["imported"], taken.json()["data"]["errors"]) == (1, []), taken.text
    row = (await app.call("GET", path, as_whom="acme")).json()["data"]
    assert (row["name"], row["description"]) == ("Lamp", "New")


async def test_a_column_that_is_left_out_is_in_the_file(app: TestApp) -> None:
    refused = await send(app, "name,sku,price\r\nLamp,LAMP-1,1\r\n", options={"columns": {"Remarks": None}})
    assert [wrong["field"] for wrong in refused.json()["error"]["details"]] == ["options.columns.Remarks"]


async def dry(app: TestApp, file: str | bytes, **options: Any) -> Json:
    answer = await send(app, file, options={**options, "dryRun": True})
    assert answer.status_code == 200, answer.text
    assert await skus(app) == []
    data: Json = answer.json()["data"]
    return data


NOTHING: Json = {"encoding": None, "decimal": None, "dateFormats": [], "headerRow": None}


def column(name: str, field: str | None, *samples: str) -> Json:
    return {"name": name, "field": field, "samples": [*samples]}


def workbook(*sheets: tuple[str, Sequence[Sequence[object]]]) -> bytes:
    made = io.BytesIO()
    with xlsxwriter.Workbook(made) as book:
        for name, rows in sheets:
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
        book.add_worksheet("Hidden").hide()
    return made.getvalue()


async def test_a_dry_run_shows_the_header_and_an_import_does_not(app: TestApp) -> None:
    found = await dry(app, LAMP + "Cup,CUP-1,2\r\n,CAP-1,3\r\nMug,MUG-1,4\r\n")
    assert (found["imported"], [error["row"] for error in found["errors"]]) == (3, [4])
    assert found["header"] == {
        "row": 1,
        "columns": [
            column("name", "name", "Lamp", "Cup"),
            column("sku", "sku", "LAMP-1", "CUP-1", "CAP-1"),
            column("price", "price", "19.99", "2", "3"),
        ],
        "suggested": NOTHING,
        "sheets": [],
        "sheet": None,
    }
    assert "header" not in (await send(app)).json()["data"]


async def test_a_dry_run_reports_columns_that_fill_no_field(app: TestApp) -> None:
    file = "id;SKU;Titel;category.name;Remarks;Old\r\n7;LAMP-1;Lamp;Lamps;by hand;\r\n"
    found = await dry(app, file, columns={"Titel": "name", "Old": None})
    assert [(error["row"], [wrong["field"] for wrong in error["details"]]) for error in found["errors"]] == [
        (1, ["Remarks"])
    ]
    assert (found["imported"], found["skipped"]) == (0, 0)
    assert found["header"]["columns"] == [
        column("id", None, "7"),
        column("SKU", "sku", "LAMP-1"),
        column("Titel", "name", "Lamp"),
        column("category.name", None, "Lamps"),
        column("Remarks", None, "by hand"),
        column("Old", None),
    ]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
async def test_a_header_without_a_known_name_is_split_by_the_delimiter_with_most_columns(
    app: TestApp, delimiter: str
) -> None:
    file = "Titel,Artikel,Preis\r\nLamp,LAMP-1,1\r\n".replace(",", delimiter)
    found = await dry(app, file)
    assert [shown["name"] for shown in found["header"]["columns"]] == ["Titel", "Artikel", "Preis"]
    columns = {"Titel": "name", "Artikel": "sku", "Preis": "price"}
    assert (await dry(app, file, columns=columns))["imported"] == 1


async def test_a_dry_run_reports_a_key_without_a_column(app: TestApp) -> None:
    found = await dry(app, "name,Nummer\r\nLamp,7\r\n", mode="upsert", columns={"Nummer": None})
    assert [wrong["field"] for wrong in found["errors"][0]["details"]] == ["options.key"]
    assert [shown["name"] for shown in found["header"]["columns"]] == ["name", "Nummer"]


async def test_a_dry_run_shows_the_sheets_of_a_workbook(app: TestApp) -> None:
    rows: list[list[object]] = [[], ["sku", "name", "Weight"], ["LAMP-1", "Lamp", 1.5], ["CUP-1", True, None]]
    file = workbook(("Cover", [["Nothing"], ["here"]]), ("Rows", rows))
    first = (await dry(app, file))["header"]
    assert (first["sheets"], first["sheet"], first["columns"]) == (
        ["Cover", "Rows"],
        "Cover",
        [column("Nothing", None, "here")],
    )
    second = await dry(app, file, sheet="rows")
    assert [error["row"] for error in second["errors"]] == [2]
    assert second["header"] == {
        "row": 2,
        "columns": [
            column("sku", "sku", "LAMP-1", "CUP-1"),
            column("name", "name", "Lamp", "true"),
            column("Weight", None, "1.5"),
        ],
        "suggested": NOTHING,
        "sheets": ["Cover", "Rows"],
        "sheet": "Rows",
    }


async def test_a_dry_run_shows_the_columns_of_a_parquet_file(app: TestApp) -> None:
    frame = pl.DataFrame(
        {
            "Titel": ["Lamp", "Cup", "Mug", "Jug"],
            "sku": ["LAMP-1", "CUP-1", "MUG-1", "JUG-1"],
            "price": [{"amount": 1}] * 4,
            "tags": [["new", "red"], [], None, ["old"]],
            "bytes": [b"x"] * 4,
        }
    )
    made = io.BytesIO()
    frame.write_parquet(made)
    found = await dry(app, made.getvalue())
    assert [wrong["field"] for wrong in found["errors"][0]["details"]] == ["Titel", "tags", "bytes"]
    assert found["header"]["columns"] == [
        column("Titel", None, "Lamp", "Cup", "Mug"),
        column("sku", "sku", "LAMP-1", "CUP-1", "MUG-1"),
        column("price", "price"),
        column("tags", None, '["new","red"]', "[]"),
        column("bytes", None),
    ]
    columns: Json = {"Titel": "name", "tags": None, "bytes": None}
    typed = await dry(app, made.getvalue(), columns=columns)
    assert [wrong["field"] for wrong in typed["errors"][0]["details"]] == ["price"]
    assert typed["header"]["columns"][0]["field"] == "name"
    assert (await send(app, made.getvalue(), options={"columns": columns})).status_code == 400


async def test_the_header_of_a_hostile_file_is_cut(app: TestApp) -> None:
    file = f"sku,{'n' * 100_000}\r\nLAMP-1,{'<b>' * 100_000}\r\n"
    (_, long) = (await dry(app, file))["header"]["columns"]
    assert long == column("n" * 200, None, "<b>" * 20)
    wide = await dry(app, f"sku{',x' * 10_000}\r\n")
    assert "10001 columns" in wide["errors"][0]["message"]
    assert len(wide["header"]["columns"]) == 1_000
    ragged = await dry(app, "sku,x\r\nLAMP-1\r\n")
    assert ragged["header"]["columns"] == [column("sku", "sku", "LAMP-1"), column("x", None)]
    header = (await dry(app, workbook(*((f"Sheet {number}", [["sku"]]) for number in range(110)))))["header"]
    assert len(header["sheets"]) == 100
