"""Contents over HTTP: who reads them, headers, ranges and links."""

import logging
from datetime import timedelta

import pytest

from application.entities.attachments.contents import FileLink
from tests.http.app import TestApp
from tests.http.entities.attachments.desk import made, open_desk, png, uploaded, with_photo

ABSENT = "01900000-0000-7000-8000-000000000000"


@pytest.fixture
async def desk() -> TestApp:
    return await open_desk()


@pytest.mark.promise("GET /api/{entities}/{id}/photo")
async def test_the_content_has_the_detected_type_and_safe_headers(desk: TestApp) -> None:
    path = await with_photo(desk)
    answer = await desk.call("GET", f"{path}/photo", as_whom="acme")
    assert (answer.status_code, answer.content) == (200, png())
    headers = answer.headers
    assert headers["content-type"] == "image/png"
    assert headers["content-length"] == str(len(png()))
    assert headers["content-disposition"] == "inline; filename=\"photo.png\"; filename*=UTF-8''photo.png"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert headers["cross-origin-resource-policy"] == "same-site"
    assert headers["cache-control"] == "private, no-cache"
    head = await desk.call("HEAD", f"{path}/photo", as_whom="acme")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(png())))
    saved = await desk.call("GET", f"{path}/photo?download=true", as_whom="acme")
    assert saved.headers["content-disposition"].startswith("attachment;")


async def test_known_content_is_not_sent_again(desk: TestApp) -> None:
    path = await with_photo(desk)
    tag = (await desk.call("GET", f"{path}/photo", as_whom="acme")).headers["etag"]
    answer = await desk.call("GET", f"{path}/photo", as_whom="acme", headers={"if-none-match": tag})
    assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", tag)


@pytest.mark.parametrize(
    ("given", "status", "content", "described"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-30", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=5-900", 206, b"56789", "bytes 5-9/10"),
        ("bytes=10-", 416, b"", "bytes */10"),
        ("bytes=-0", 416, b"", "bytes */10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("bytes=" + ",".join("0-1" for _ in range(1_000)), 200, b"0123456789", None),
        ("bytes=" + "9" * 400 + "-", 200, b"0123456789", None),
        ("lines=1-2", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
    ],
)
async def test_one_range_is_served(
    desk: TestApp, given: str, status: int, content: bytes, described: str | None
) -> None:
    file_id = await uploaded(desk, b"0123456789", "items.contract")
    row = await made(desk, code="a", contractId=file_id)
    path = f"/api/items/{row['id']}/contract"
    answer = await desk.call("GET", path, as_whom="acme", headers={"range": given})
    assert (answer.status_code, answer.content, answer.headers.get("content-range")) == (status, content, described)
    other = {"range": given, "if-range": '"other"'}
    assert (await desk.call("GET", path, as_whom="acme", headers=other)).status_code == 200


async def test_files_of_a_list_have_paths_of_their_own(desk: TestApp) -> None:
    plans = [await uploaded(desk, f"plan {n}".encode(), "items.plans", name=f"{n}.txt") for n in range(2)]
    other = await uploaded(desk, b"other", "items.plans")
    row = await made(desk, code="a", planIds=plans)
    await made(desk, code="b", planIds=[other])
    path = f"/api/items/{row['id']}"
    answer = await desk.call("GET", f"{path}/plans/{plans[1]}", as_whom="acme")
    assert (answer.status_code, answer.content) == (200, b"plan 1")
    assert answer.headers["content-disposition"].startswith("attachment;")
    for absent in (other, ABSENT, "x"):
        assert (await desk.call("GET", f"{path}/plans/{absent}", as_whom="acme")).status_code == 404
    read = await desk.call("GET", f"{path}?include=plans", as_whom="acme")
    assert [plan["name"] for plan in read.json()["data"]["plans"]] == ["0.txt", "1.txt"]


async def test_every_refusal_is_the_same_404(desk: TestApp) -> None:
    path = await with_photo(desk)
    empty = await made(desk, code="empty")
    deleted = await with_photo(desk)
    await desk.call("DELETE", deleted, as_whom="acme")
    await desk.make_role("acme", "Own", ["read-own:items", "create:items"])
    await desk.make_user("acme", "own@acme.example", ["Own"])
    await desk.login("own", "own@acme.example")
    refused = [
        ("acme", f"/api/items/{ABSENT}/photo"),
        ("acme", "/api/items/x/photo"),
        ("acme", f"/api/items/{empty['id']}/photo"),
        ("acme", f"{deleted}/photo"),
        ("other", f"{path}/photo"),
        ("own", f"{path}/photo"),
        ("own", f"{path}/contract"),
    ]
    bodies = set()
    for whom, target in refused:
        answer = await desk.call("GET", target, as_whom=whom)
        error = answer.json()["error"]
        bodies.add((answer.status_code, error["code"], error["message"], str(error.get("details"))))
        link = await desk.call("POST", f"{target}/link", as_whom=whom, json={})
        assert link.status_code == 404
    assert len(bodies) == 1
    assert (await desk.call("GET", f"{path}/photo", as_whom="reader")).status_code == 403
    await desk.call("POST", f"{deleted}/restore", as_whom="acme")
    assert (await desk.call("GET", f"{deleted}/photo", as_whom="acme")).status_code == 200


async def test_a_super_admin_reads_in_a_named_tenant(desk: TestApp) -> None:
    path = await with_photo(desk)
    tenant = (await desk.call("GET", path, as_whom="root in acme")).json()
    assert tenant["success"]
    scoped = await desk.call("GET", f"{path}/photo", as_whom="root in other", headers={"x-tenant-scope": "all"})
    assert scoped.status_code == 400


async def test_own_files_are_read_by_their_owner(desk: TestApp) -> None:
    await desk.make_role("acme", "Own", ["read-own:items", "create:items"])
    await desk.make_user("acme", "own@acme.example", ["Own"])
    await desk.login("own", "own@acme.example")
    path = await with_photo(desk, whom="own")
    assert (await desk.call("GET", f"{path}/photo", as_whom="own")).status_code == 200


async def test_an_undeclared_size_is_refused(desk: TestApp) -> None:
    path = await with_photo(desk)
    answer = await desk.call("GET", f"{path}/photo?size=9999x9999", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["details"][0]["field"]) == (400, "size")


@pytest.mark.promise("POST /api/{entities}/{id}/photo/link")
async def test_a_link_serves_without_a_token_while_the_row_holds_the_file(desk: TestApp) -> None:
    path = await with_photo(desk)
    made_link = await desk.call("POST", f"{path}/photo/link", as_whom="acme", json={"download": True})
    assert made_link.status_code == 200, made_link.text
    url = made_link.json()["data"]["url"]
    target = "/files/" + url.rpartition("/")[2]
    answer = await desk.call("GET", target)
    assert (answer.status_code, answer.content) == (200, png())
    assert answer.headers["content-disposition"].startswith("attachment;")
    assert answer.headers["cache-control"] == "private, max-age=300"
    assert answer.headers["referrer-policy"] == "no-referrer"
    changed = target[:-9] + ("A" if target[-9] != "A" else "B") + target[-8:]
    assert (await desk.call("GET", changed)).status_code == 404
    await desk.call("PATCH", path, as_whom="acme", json={"photoId": None})
    assert (await desk.call("GET", target)).status_code == 404


async def test_a_text_that_is_not_a_link_is_not_found(desk: TestApp) -> None:
    path = await with_photo(desk)
    link = (await desk.call("POST", f"{path}/photo/link", as_whom="acme", json={})).json()["data"]["url"]
    token = link.rpartition("/")[2]
    content = desk.services.file_contents.tickets.open("file", token, FileLink, desk.clock.now())
    assert content is not None
    of_another_kind = desk.services.file_contents.tickets.seal("code", content.content, content.until)
    for wrong in ("x", "." * 9_000, token[::-1], token[:-1], of_another_kind, f"{token}%00"):
        assert (await desk.call("GET", f"/files/{wrong}")).status_code == 404, wrong
    assert (await desk.call("GET", f"/files/{token}?download=true")).status_code == 400


async def test_a_link_ends_with_its_tenant(desk: TestApp) -> None:
    path = await with_photo(desk)
    url = (await desk.call("POST", f"{path}/photo/link", as_whom="acme", json={})).json()["data"]["url"]
    tenants = (await desk.call("GET", "/api/tenants", as_whom="root")).json()["data"]["items"]
    acme = next(each["id"] for each in tenants if each["identifier"] == "acme")
    closed = await desk.call("PUT", f"/api/tenants/{acme}", as_whom="root", json={"isActive": False})
    assert closed.status_code == 200, closed.text
    assert (await desk.call("GET", url)).status_code == 404


async def test_a_link_ends_after_five_minutes_and_with_its_row(desk: TestApp) -> None:
    path = await with_photo(desk)
    link = (await desk.call("POST", f"{path}/photo/link", as_whom="acme", json={})).json()["data"]
    target = "/files/" + link["url"].rpartition("/")[2]
    await desk.call("DELETE", path, as_whom="acme")
    assert (await desk.call("GET", target)).status_code == 404
    await desk.call("POST", f"{path}/restore", as_whom="acme")
    assert (await desk.call("GET", target)).status_code == 200
    desk.clock.move(timedelta(minutes=5))
    assert (await desk.call("GET", target)).status_code == 404


@pytest.mark.parametrize("ending", ["", "/", "?download=true", "%20"])
async def test_a_link_is_never_in_the_log(desk: TestApp, caplog: pytest.LogCaptureFixture, ending: str) -> None:
    path = await with_photo(desk)
    url = (await desk.call("POST", f"{path}/photo/link", as_whom="acme", json={})).json()["data"]["url"]
    token = url.rpartition("/")[2]
    with caplog.at_level(logging.DEBUG):
        for method in ("GET", "HEAD", "POST", "OPTIONS", "PROPFIND"):
            await desk.call(method, f"/files/{token}{ending}")
    lines = [str(record.__dict__) for record in caplog.records if record.name.startswith(("adapters", "application"))]
    assert len(lines) >= 5
    assert [line for line in lines if token in line] == []
