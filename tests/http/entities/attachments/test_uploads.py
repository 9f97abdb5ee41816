"""Uploads over HTTP: the order of checks, what is stored, and temporary files."""

import asyncio
import hashlib
import tempfile
from collections.abc import AsyncIterator
from copy import copy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from adapters.http.request.responses import wire_time
from application.entities.transfers.transfer_slots import UPLOADS_OF_A_USER
from domain.scope import EveryTenant
from tests.http.app import TestApp
from tests.http.built_once import asgi_of
from tests.http.entities.attachments.desk import made, open_desk, png, send, uploaded
from tests.http.request.test_pipeline import POST


@pytest.fixture
async def desk() -> TestApp:
    return await open_desk()


async def test_an_upload_is_a_temporary_file(desk: TestApp) -> None:
    answer = await send(desk, png(5, 4), name="../über.png")
    assert answer.status_code == 201, answer.text
    data = answer.json()["data"]
    assert answer.headers["location"] == f"/api/files/{data['id']}"
    expires = wire_time(desk.clock.now() + timedelta(hours=24))
    assert {name: value for name, value in data.items() if name != "id"} == {
        "name": "über.png",
        "type": "image/png",
        "size": len(png(5, 4)),
        "sha256": hashlib.sha256(png(5, 4)).hexdigest(),
        "state": "temporary",
        "expiresAt": expires,
        "width": 5,
        "height": 4,
    }
    again = await desk.call("GET", answer.headers["location"], as_whom="acme")
    assert (again.status_code, again.json()["data"]) == (200, data)


async def test_only_the_uploader_sees_a_temporary_file(desk: TestApp) -> None:
    file_id = await uploaded(desk)
    for whom in ("other", "root in acme"):
        assert (await desk.call("GET", f"/api/files/{file_id}", as_whom=whom)).status_code == 404
        assert (await desk.call("DELETE", f"/api/files/{file_id}", as_whom=whom)).status_code == 404
    assert (await desk.call("DELETE", f"/api/files/{file_id}", as_whom="acme")).status_code == 204
    assert (await desk.call("GET", f"/api/files/{file_id}", as_whom="acme")).status_code == 404


async def test_a_held_file_is_not_temporary(desk: TestApp) -> None:
    file_id = await uploaded(desk)
    await made(desk, code="a", photoId=file_id)
    assert (await desk.call("GET", f"/api/files/{file_id}", as_whom="acme")).status_code == 404
    assert (await desk.call("DELETE", f"/api/files/{file_id}", as_whom="acme")).status_code == 404


@pytest.mark.parametrize("purpose", ["", "items", "items.code", "items.shelf", "nothing.photo", "users.photo"])
async def test_an_unknown_purpose_is_refused(desk: TestApp, purpose: str) -> None:
    answer = await send(desk, purpose=purpose)
    assert answer.status_code == 400
    (detail,) = answer.json()["error"]["details"]
    assert detail == {
        "field": "purpose",
        "message": "must be one of: items.photo, items.plans, items.contract, notes.scan",
    }


async def test_an_upload_needs_a_token_and_permission_to_write(desk: TestApp) -> None:
    assert (await desk.call("POST", "/api/files?purpose=items.photo", files={"file": png()})).status_code == 401
    assert (await send(desk, whom="reader")).status_code == 403
    await desk.make_role("acme", "Clerk", ["read:items", "update:items", "read:contracts"])
    await desk.make_user("acme", "clerk@acme.example", ["Clerk"])
    await desk.login("clerk", "clerk@acme.example")
    assert (await send(desk, whom="clerk")).status_code == 201
    assert (await send(desk, b"x", "items.contract", whom="clerk")).status_code == 403


async def test_a_file_may_have_exactly_the_declared_size(desk: TestApp) -> None:
    assert (await send(desk, b"x" * 1_000, "items.contract")).status_code == 201
    over = await send(desk, b"x" * 1_001, "items.contract")
    assert (over.status_code, over.json()["error"]["code"]) == (413, "PAYLOAD_TOO_LARGE")
    far_over = await send(desk, b"x" * 200_000, "items.contract")
    assert far_over.status_code == 413


async def test_other_content_is_refused_by_the_type_that_was_found(desk: TestApp) -> None:
    answer = await send(desk, b"<svg xmlns='http://www.w3.org/2000/svg'/>", name="photo.png")
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    form = await desk.call("POST", "/api/files?purpose=items.photo", as_whom="acme", json={})
    assert form.status_code == 415


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("../../x", "x"),
        ("x" * 1_000 + ".png", "x" * 251 + ".png"),
        ("\u202egnp.exe", "gnp.exe"),
        ("CON", "_CON"),
        ("", "file"),
    ],
)
async def test_a_hostile_name_is_cleaned_and_sent_in_one_line(desk: TestApp, sent: str, stored: str) -> None:
    file = (await send(desk, name=sent)).json()["data"]
    assert file["name"] == stored
    row = await made(desk, code="a", photoId=file["id"])
    read = await desk.call("GET", f"/api/items/{row['id']}/photo", as_whom="acme")
    assert (read.status_code, read.content) == (200, png())
    assert "\n" not in read.headers["content-disposition"]


@pytest.mark.parametrize("name", [b"a\r\nSet-Cookie: x", b"a\0.png", b"\xff.png"])
async def test_names_that_break_the_form_are_refused_or_cleaned(desk: TestApp, name: bytes) -> None:
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="' + name + b'"\r\n\r\n'
    kind = {"Content-Type": "multipart/form-data; boundary=x"}
    body = head + png() + b"\r\n--x--\r\n"
    answer = await desk.call("POST", "/api/files?purpose=items.photo", as_whom="acme", headers=kind, content=body)
    assert answer.status_code in {201, 400}, answer.text
    assert "set-cookie" not in answer.headers
    if answer.status_code == 201:
        assert answer.json()["data"]["name"].isprintable()


async def test_purposes_of_guarded_fields_are_not_listed(desk: TestApp) -> None:
    await desk.make_role("acme", "Clerk", ["read:items", "update:items"])
    await desk.make_user("acme", "clerk@acme.example", ["Clerk"])
    await desk.login("clerk", "clerk@acme.example")
    for purpose in ("items.contract", "unknown"):
        answer = await send(desk, purpose=purpose, whom="clerk")
        (detail,) = answer.json()["error"]["details"]
        assert detail["message"] == "must be one of: items.photo, items.plans, notes.scan"


async def test_an_empty_file_is_named_empty(desk: TestApp) -> None:
    answer = await send(desk, b"")
    assert (answer.status_code, answer.json()["error"]["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")
    assert answer.json()["error"]["message"] == "The file is empty. Accepted types: image/png, image/jpeg."
    # any content may be empty
    assert (await send(desk, b"", "items.contract")).status_code == 201


async def test_uploads_have_their_own_slots(desk: TestApp) -> None:
    """A slot is held before the body is read: the forms here have only begun to arrive."""
    kind, goes_on, begun = {"Content-Type": "multipart/form-data; boundary=x"}, asyncio.Event(), asyncio.Semaphore(0)

    async def slow() -> AsyncIterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'
        begun.release()
        await goes_on.wait()
        yield png() + b"\r\n--x--\r\n"

    path = "/api/files?purpose=items.photo"
    running = [
        asyncio.create_task(desk.call("POST", path, as_whom="acme", headers=kind, content=slow()))
        for _ in range(UPLOADS_OF_A_USER)
    ]
    for _ in running:
        await begun.acquire()
    refused = await send(desk)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "RATE_LIMITED")
    assert refused.json()["error"]["message"] == "You have 4 uploads running: wait for one to end."
    assert int(refused.headers["retry-after"]) > 0
    assert (await desk.call("GET", "/api/items/export?format=csv", as_whom="acme")).status_code == 200
    goes_on.set()
    assert [answer.status_code for answer in await asyncio.gather(*running)] == [201] * UPLOADS_OF_A_USER


def inside(folder: Path) -> list[Path]:
    return list(folder.iterdir())


@pytest.mark.promise("files, transfers: Readers and writers below the lowest pace are left")
@pytest.mark.parametrize("is_slow", [False, True])
async def test_an_upload_that_does_not_arrive_leaves_no_file_and_no_slot(
    desk: TestApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_slow: bool
) -> None:
    begin = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n' + png()
    headers = {"host": "localhost", "transfer-encoding": "chunked", "content-type": "multipart/form-data; boundary=x"}
    headers["authorization"] = f"Bearer {desk.tokens['acme']}"
    scope: Any = {
        **POST,
        "path": "/api/files",
        "raw_path": b"/api/files",
        "query_string": b"purpose=items.photo",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    spooled: list[int] = []

    async def receive() -> Any:
        spooled.append(len(inside(tmp_path)))
        if len(spooled) % 2:
            return {"type": "http.request", "body": begin, "more_body": True}
        if is_slow:
            raise TimeoutError
        return {"type": "http.disconnect"}

    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.append(message.get("status", 0))

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for _ in range(UPLOADS_OF_A_USER + 1):
        await asgi_of(desk.services)(copy(scope), receive, send)
    assert statuses == [408 if is_slow else 400, 0] * (UPLOADS_OF_A_USER + 1)
    assert (set(spooled), inside(tmp_path)) == ({1}, [])
    async with desk.adapters.database.read_only(EveryTenant()) as read:
        assert await read.unused_files.page(None, 10) == []


async def test_a_form_has_one_part_called_file(desk: TestApp) -> None:
    path = "/api/files?purpose=items.photo"
    other = await desk.call("POST", path, as_whom="acme", files={"file": png(), "more": b"x"})
    assert (other.status_code, other.json()["error"]["details"][0]["field"]) == (400, "more")
    none = await desk.call("POST", path, as_whom="acme", files={"photo": png()})
    assert none.status_code == 400


async def test_the_quota_of_a_tenant_counts_all_its_files() -> None:
    desk = await open_desk({"TENANTRY_FILES_TENANT_BYTES": "2500"})
    first = await uploaded(desk, b"x" * 1_000, "items.contract")
    await uploaded(desk, b"x" * 1_000, "items.contract")
    over = await send(desk, b"x" * 1_000, "items.contract")
    assert (over.status_code, over.json()["error"]["code"]) == (403, "QUOTA_EXCEEDED")
    message = "The files of the tenant have 2000 bytes; with this one they would exceed the limit of 2500."
    assert over.json()["error"]["message"] == message
    assert (await send(desk, b"x" * 1_000, "items.contract", whom="other")).status_code == 201
    assert (await desk.call("DELETE", f"/api/files/{first}", as_whom="acme")).status_code == 204
    assert (await send(desk, b"x" * 1_000, "items.contract")).status_code == 201
