"""Files over HTTP: what is asked, what is answered, and what is refused."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.http.app import TestApp

HEADER = "name,sku,price\r\n"
LAMP = HEADER + "Lamp,LAMP-1,19.99\r\n"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PARQUET = "application/vnd.apache.parquet"


async def send(
    app: TestApp, file: str | bytes = LAMP, whom: str | None = "acme", options: Any = None, **more: Any
) -> httpx.Response:
    form = {} if options is None else {"options": options if isinstance(options, str) else json.dumps(options)}
    path = more.pop("path", "/api/products/import")
    return await app.call("POST", path, as_whom=whom, files={"file": ("a.csv", file)}, data=form, **more)


async def export(app: TestApp, query: str = "", whom: str | None = "acme", **headers: str) -> httpx.Response:
    return await app.call("GET", f"/api/products/export{query}", as_whom=whom, headers=headers)


async def skus(app: TestApp, whom: str = "acme") -> list[str]:
    items = (await app.call("GET", "/api/products?sort=sku&pageSize=100", as_whom=whom)).json()["data"]["items"]
    return [item["sku"] for item in items]


async def test_an_import_answers_as_the_specification_shows(app: TestApp) -> None:
    answer = await send(app, LAMP + "Cup,bad,1\r\nLamp again,LAMP-1,1\r\n")
    assert answer.status_code == 200
    data = answer.json()["data"]
    assert (data["imported"], data["skipped"], [error["row"] for error in data["errors"]]) == (1, 1, [3])
    assert "sku" in data["errors"][0]["message"]
    assert "errorsTruncated" not in data


@pytest.mark.parametrize(
    ("query", "accept", "kind"),
    [
        ("", None, "text/csv; charset=utf-8"),
        ("?format=csv", "application/json", "text/csv; charset=utf-8"),
        ("?format=JSON", None, "application/json"),
        ("?format=xlsx", None, XLSX),
        ("?format=parquet", None, PARQUET),
        ("", PARQUET, PARQUET),
        ("", "application/json", "application/json"),
        ("", XLSX, XLSX),
        ("", "application/json;q=0.5, text/csv", "text/csv; charset=utf-8"),
        ("", "image/png", "text/csv; charset=utf-8"),
        ("", "*/*", "text/csv; charset=utf-8"),
        ("", "text/*", "text/csv; charset=utf-8"),
        ("", "application/*", XLSX),
        ("", f"application/*, {XLSX};q=0", "application/json"),
        ("", f"application/*;q=0.9, {PARQUET};q=0.8, text/*;q=0.1", XLSX),
        ("", "text/*;q=0.5, application/*;q=0.4, application/json;q=0.6", "application/json"),
        ("", "application/json, text/plain, */*", "application/json"),
        ("", "text/csv;q=0, */*", XLSX),
        ("", f"*/*;q=0.8, {PARQUET};q=0.8", PARQUET),
        ("", f"{PARQUET}, application/json", PARQUET),
        ("", "text/csv;q=0", "text/csv; charset=utf-8"),
    ],
)
async def test_format_wins_over_accept_and_csv_over_nothing(
    app: TestApp, query: str, accept: str | None, kind: str
) -> None:
    answer = await export(app, query, **({"Accept": accept} if accept else {}))
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    ending = {"text/csv": "csv", "application/json": "json", XLSX: "xlsx", PARQUET: "parquet"}[kind.partition(";")[0]]
    assert answer.headers["content-disposition"] == f'attachment; filename="products-2026-11-20.{ending}"'


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("?format=pdf", 400, "BAD_REQUEST"),
        ("?page=1", 400, "VALIDATION_ERROR"),
        ("?pageSize=5", 400, "VALIDATION_ERROR"),
        ("?nmae=x", 400, "VALIDATION_ERROR"),
        ("?include=reviews", 400, "VALIDATION_ERROR"),
        ("?bom=maybe", 400, "VALIDATION_ERROR"),
        ("?bom=true&bom=true", 400, "VALIDATION_ERROR"),
        ("?format=csv&format=json", 400, "VALIDATION_ERROR"),
    ],
)
async def test_a_wrong_export_is_refused(app: TestApp, query: str, status: int, code: str) -> None:
    answer = await export(app, query)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_an_export_accepts_the_parameters_of_a_list(app: TestApp) -> None:
    await send(app, LAMP + "Cup,CUP-1,2\r\nTable,TAB-1,200\r\n")
    answer = await export(app, "?minPrice=10&sort=price:desc&fields=sku&bom=true")
    header, *rows = answer.content.decode("utf-8").splitlines()
    assert header == "\ufeffid,sku"
    assert [row.split(",")[1] for row in rows] == ["TAB-1", "LAMP-1"]


async def test_head_answers_without_a_body(app: TestApp) -> None:
    answer = await app.call("HEAD", "/api/products/export", as_whom="acme")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"


async def test_an_export_without_rows_has_its_header_and_the_mark_of_utf_8(app: TestApp) -> None:
    answer = await export(app, "?fields=sku&bom=true")
    assert answer.content == b"\xef\xbb\xbfid,sku\r\n"


async def test_a_reader_may_export_and_not_import(app: TestApp) -> None:
    assert (await export(app, whom="reader")).status_code == 200
    assert (await export(app, whom=None)).status_code == 401
    assert (await send(app, whom="reader")).status_code == 403
    assert (await send(app, whom=None)).status_code == 401


async def test_an_include_needs_read_on_its_target(app: TestApp) -> None:
    assert (await export(app, "?include=category", whom="reader")).status_code == 403


async def test_an_upsert_needs_update_too(app: TestApp) -> None:
    await app.make_role("acme", "Writer", ["create:products", "read:products"])
    await app.make_user("acme", "writer@acme.example", ["Writer"])
    await app.login("writer", "writer@acme.example")
    assert (await send(app, whom="writer")).status_code == 200
    assert (await send(app, whom="writer", options={"mode": "upsert"})).status_code == 403


async def test_a_file_stays_in_its_tenant(app: TestApp) -> None:
    await send(app)
    assert await skus(app, "other") == []
    assert json.loads((await export(app, "?format=json", whom="other")).content) == []
    (item,) = (await app.call("GET", "/api/products", as_whom="acme")).json()["data"]["items"]
    file = f"id,tenantId,{HEADER}{item['id']},{item['id']},Lamp,LAMP-1,1\r\n"
    assert (await send(app, file, whom="other")).json()["data"]["imported"] == 1
    assert await skus(app, "other") == ["LAMP-1"]


async def test_a_dry_run_reports_and_stores_nothing(app: TestApp) -> None:
    answer = await send(app, LAMP + "Lamp,LAMP-1,2\r\n", options={"dryRun": True})
    assert answer.json()["data"].items() >= {"imported": 1, "skipped": 1, "skippedRows": [3]}.items()
    assert await skus(app) == []


async def test_atomic_stores_all_or_nothing_and_lists_the_errors(app: TestApp) -> None:
    answer = await send(app, LAMP + "Cup,bad,1\r\n", options={"atomic": True})
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["details"][0]["row"], error["details"][0]["field"]) == ("VALIDATION_ERROR", 3, "row 3")
    assert await skus(app) == []
    assert (await send(app, options={"atomic": True})).status_code == 200


async def test_at_most_a_thousand_errors_are_listed(app: TestApp) -> None:
    data = (await send(app, HEADER + "x,bad,1\r\n" * 1_200)).json()["data"]
    assert (data["imported"], data["skipped"], len(data["errors"])) == (0, 0, 1_000)
    assert data["errorsTruncated"] is True


@pytest.mark.parametrize(
    ("file", "options", "code", "field"),
    [
        ("nmae,sku\r\n", None, "VALIDATION_ERROR", "nmae"),
        (LAMP, {"mod": "upsert"}, "VALIDATION_ERROR", "options.mod"),
        (LAMP, {"sheet": "x"}, "VALIDATION_ERROR", "options.sheet"),
        (LAMP, {"encoding": "klingon"}, "VALIDATION_ERROR", "options.encoding"),
        (LAMP, {"encoding": "base64"}, "VALIDATION_ERROR", "options.encoding"),
        (LAMP, {"encoding": "idna"}, "BAD_REQUEST", None),
        (LAMP, {"encoding": "punycode"}, "BAD_REQUEST", None),
        (LAMP, "{", "VALIDATION_ERROR", "options"),
        (LAMP, "[]", "VALIDATION_ERROR", "options"),
        (LAMP, {"columns": {"x": "name"}}, "VALIDATION_ERROR", "options.columns.x"),
        ("", None, "BAD_REQUEST", None),
        (LAMP, {"headerRow": 3}, "VALIDATION_ERROR", "options.headerRow"),
        (b"\xff\xfe\xfd", None, "BAD_REQUEST", None),
    ],
)
async def test_a_wrong_file_or_option_is_named(
    app: TestApp, file: str | bytes, options: Any, code: str, field: str | None
) -> None:
    answer = await send(app, file, options=options)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], [detail["field"] for detail in error.get("details", [])]) == (code, [field] if field else [])
    assert await skus(app) == []


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "application/json"}, b"{}", 415),
        ({"Content-Type": "multipart/form-data; boundary=x", "Content-Encoding": "gzip"}, b"--x--\r\n", 415),
        ({"Content-Type": "multipart/form-data"}, b"", 400),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"nothing of it", 400),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x\r\n\r\n", 400),
        ({"Content-Type": "multipart/form-data; boundary=x"}, b"--x--\r\n", 400),
    ],
)
async def test_a_body_that_is_not_a_form_is_refused(
    app: TestApp, headers: dict[str, str], body: bytes, status: int
) -> None:
    answer = await app.call("POST", "/api/products/import", as_whom="acme", headers=headers, content=body)
    assert answer.status_code == status


async def test_a_form_has_a_file_and_options(app: TestApp) -> None:
    for files in ({"other": ("a", b"x")}, {"options": (None, "{}")}):
        answer = await app.call("POST", "/api/products/import", as_whom="acme", files=files)
        assert answer.status_code == 400


@pytest.mark.parametrize("text", [b"{" + bytes(64 * 1024), b"\xff\xfe"])
async def test_options_that_are_too_long_or_no_text_are_named(app: TestApp, text: bytes) -> None:
    form = {"file": ("a.csv", LAMP), "options": (None, text)}
    answer = await app.call("POST", "/api/products/import", as_whom="acme", files=form)
    assert answer.status_code == 400
    assert [detail["field"] for detail in answer.json()["error"]["details"]] == ["options"]


async def test_a_file_of_more_than_50_mebibytes_is_too_large(app: TestApp) -> None:
    answer = await send(app, HEADER.encode() + bytes(50 * 1024 * 1024))
    assert answer.status_code == 413
    said = {"Content-Length": str(60 * 1024 * 1024), "Content-Type": "multipart/form-data; boundary=x"}
    answer = await app.call("POST", "/api/products/import", as_whom="acme", headers=said, content=b"x")
    assert answer.status_code == 413


async def test_the_same_key_and_file_get_the_first_answer_again(app: TestApp) -> None:
    key = {"Idempotency-Key": "one"}
    first, second = [await send(app, headers=key) for _ in range(2)]
    assert first.json()["data"] == second.json()["data"] == {"imported": 1, "skipped": 0, "errors": []}
    assert second.headers["idempotent-replayed"] == "true"
    assert (await send(app, LAMP + "Cup,CUP-1,1\r\n", headers=key)).status_code == 422


async def test_a_super_admin_reaches_further_by_the_header(app: TestApp) -> None:
    await send(app)
    every = await app.call("GET", "/api/products/export", as_whom="root in other", headers={"X-Tenant-Scope": "all"})
    assert every.text.startswith("id,tenantId,")
    assert "LAMP-1" in every.text
    refused = await send(app, whom="root in other", headers={"X-Tenant-Scope": "all"})
    assert refused.json()["error"]["code"] == "BAD_REQUEST"
    assert (await export(app, **{"X-Tenant-Scope": "all"})).status_code == 403


async def test_rows_that_all_share_are_imported_by_super_admins(app: TestApp) -> None:
    file, path = "code,name\r\nEUR,Euro\r\n", "/api/currencies/import"
    assert (await send(app, file, path=path)).status_code == 403
    assert (await send(app, file, whom="root in acme", path=path)).json()["data"]["imported"] == 1


async def test_five_exports_and_five_imports_a_minute(app: TestApp) -> None:
    for ask in (export, send):
        answers = [await ask(app) for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        assert answers[0].headers["x-ratelimit-limit"] == "5"


async def test_what_only_reads_has_no_import(app: TestApp) -> None:
    answer = await app.call("POST", "/api/audit-events/import", as_whom="acme", files={"file": ("a", b"x")})
    assert answer.status_code in (404, 405)
    assert (await app.call("GET", "/api/audit-events/export", as_whom="acme")).status_code == 200


async def test_an_exported_xlsx_is_imported_with_equal_values(app: TestApp) -> None:
    await send(app, 'name,sku,price,description\r\n\'=1+1,AAA,12.50,"two\nlines"\r\nB,BBB,0.10,\r\n')
    before = json.loads((await export(app, "?format=json&sort=sku&fields=name,price,description")).content)
    sheet = (await export(app, "?format=xlsx")).content
    assert (await send(app, sheet, whom="other")).json()["data"] == {"imported": 2, "skipped": 0, "errors": []}
    there = await export(app, "?format=json&sort=sku&fields=name,price,description", whom="other")
    after = json.loads(there.content)
    assert [{**row, "id": None} for row in after] == [{**row, "id": None} for row in before]


@pytest.mark.promise(
    "files, Parquet: an import after an export changes nothing, by CSV, xlsx and Parquet, in memory and in PostgreSQL"
)
async def test_an_exported_parquet_file_can_be_imported_again(app: TestApp) -> None:
    assert (await app.call("POST", "/api/currencies", as_whom="root", json={"code": "EUR", "name": "Euro"})).is_success
    exported = await app.call("GET", "/api/currencies/export?format=parquet", as_whom="root")
    assert exported.content.startswith(b"PAR1")
    files = {
        "file": ("currencies.parquet", exported.content, PARQUET),
        "options": (None, '{"mode": "upsert", "key": "code"}'),
    }
    answer = await app.call("POST", "/api/currencies/import", as_whom="root", files=files)
    assert (answer.status_code, answer.json()["data"]["imported"], answer.json()["data"]["errors"]) == (200, 1, [])


@pytest.mark.promise("files, upsert: a row of an older version is an error that names the stored one")
@pytest.mark.parametrize("form", ["csv", "xlsx", "parquet"])
async def test_an_upsert_of_an_older_export_is_refused(app: TestApp, form: str) -> None:
    await send(app)
    old = (await export(app, f"?format={form}")).content
    upsert = {"mode": "upsert"}
    assert (await send(app, old, options=upsert)).json()["data"]["imported"] == 1
    data = (await send(app, old, options=upsert)).json()["data"]
    assert (data["imported"], [error["row"] for error in data["errors"]]) == (0, [2])
    (detail,) = data["errors"][0]["details"]
    assert detail["field"] == "version"
    assert "the stored row has 2" in detail["message"]


async def test_a_version_in_a_file_may_be_empty_and_must_be_a_whole_number(app: TestApp) -> None:
    await send(app)
    file = "sku,price,Rev\r\nLAMP-1,5,\r\nLAMP-1,6,1.5\r\nLAMP-1,7,0\r\nLAMP-1,8,2147483648\r\n"
    data = (await send(app, file, options={"mode": "upsert", "columns": {"rev": "version"}})).json()["data"]
    assert (data["imported"], [error["row"] for error in data["errors"]]) == (1, [3, 4, 5])
    assert {error["details"][0]["field"] for error in data["errors"]} == {"version"}


@pytest.mark.promise("files, errors of rows: details names field and message apart")
async def test_each_error_of_a_row_names_its_fields(app: TestApp) -> None:
    data = (await send(app, LAMP + "Cup,bad,x\r\n")).json()["data"]
    (error,) = data["errors"]
    assert [detail["field"] for detail in error["details"]] == ["sku", "price"]
    assert error["message"] == "; ".join(f"{detail['field']}: {detail['message']}" for detail in error["details"])
    refused = await send(app, LAMP + "Cup,bad,x\r\n", options={"atomic": True})
    (detail,) = refused.json()["error"]["details"]
    assert [wrong["field"] for wrong in detail["details"]] == ["sku", "price"]


@pytest.mark.promise(
    "files, transfers: a place is taken before the upload is read, refused with Retry-After, and free again after a "
    "failure"
)
async def test_a_third_transfer_of_a_user_is_one_too_many(app: TestApp) -> None:
    """A place is taken before the upload is read: the two forms here have only begun to come."""
    kind, goes_on, begun = {"Content-Type": "multipart/form-data; boundary=x"}, asyncio.Event(), asyncio.Semaphore(0)

    async def slow() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n' + LAMP.encode()
        begun.release()
        await goes_on.wait()
        yield b"\r\n--x--\r\n"

    path = "/api/products/import"
    uploads = [
        asyncio.create_task(app.call("POST", path, as_whom="acme", headers=kind, content=slow())) for _ in range(2)
    ]
    for _ in uploads:
        await begun.acquire()
    for refused in (await export(app), await send(app)):
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
        assert "2 exports and imports" in refused.json()["error"]["message"]
        assert int(refused.headers["retry-after"]) > 0
    assert (await export(app, whom="other")).status_code == 200
    goes_on.set()
    assert [answer.status_code for answer in await asyncio.gather(*uploads)] == [200, 200]
    assert (await export(app)).status_code == 200
