"""Thumbnails over HTTP, and images that are stored without their metadata."""

import hashlib
import io
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Struct
from PIL import Image

from domain.entities.attachments.marks import attachment
from domain.entities.markers import entity
from tests.http.app import TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.entities.attachments.desk import made, png, uploaded

SECRET = b"52.5163N 13.3777E"


@entity("portraits", history=True)
class Portrait(Struct, rename="camel", kw_only=True):
    photo_id: Annotated[
        UUID | None, attachment(["image/png", "image/jpeg"], 5_000_000, thumbnails={"small": (64, 48)})
    ] = None
    selfie_id: Annotated[UUID | None, attachment(["image/jpeg"], 5_000_000, strip_metadata=True)] = None


@pytest.fixture
async def desk() -> TestApp:
    app = await open_test_app(entities=(Portrait,))
    await seed(app)
    return app


async def with_portrait(desk: TestApp, content: bytes, purpose: str) -> str:
    """Make a row with a file; return the path of the file."""
    file_id = await uploaded(desk, content, f"portraits.{purpose}")
    row = await made(desk, plural="portraits", **{f"{purpose}Id": file_id})
    return f"/api/portraits/{row['id']}/{purpose}"


async def test_a_thumbnail_is_small_and_has_the_headers_of_the_file(desk: TestApp) -> None:
    path = await with_portrait(desk, png(640, 480), "photo")
    whole = await desk.call("GET", path, as_whom="acme")
    answer = await desk.call("GET", f"{path}?size=small", as_whom="acme")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
    assert Image.open(io.BytesIO(answer.content)).size == (64, 48)
    assert answer.headers["content-disposition"].startswith('inline; filename="photo-small.webp"')
    assert answer.headers["etag"] != whole.headers["etag"]
    for name in ("content-security-policy", "x-content-type-options", "cache-control"):
        assert answer.headers[name] == whole.headers[name]
    known = {"if-none-match": answer.headers["etag"]}
    assert (await desk.call("GET", f"{path}?size=small", as_whom="acme", headers=known)).status_code == 304


async def test_a_link_leads_to_the_thumbnail_without_a_token(desk: TestApp) -> None:
    path = await with_portrait(desk, png(640, 480), "photo")
    link = await desk.call("POST", f"{path}/link", as_whom="acme", json={"size": "small"})
    url = link.json()["data"]["url"]
    answer = await desk.client.get(url[url.index("/files/") :])
    assert Image.open(io.BytesIO(answer.content)).size == (64, 48)
    found = await desk.call("GET", "/api/audit-events?action.startsWith=file.", as_whom="acme")
    assert found.json()["data"]["items"] == []  # a list of rows asks for many


@pytest.mark.parametrize("size", ["large", "9999x9999", "", "SMALL", "small&size=small"])
async def test_a_size_that_is_not_declared_is_invalid(desk: TestApp, size: str) -> None:
    path = await with_portrait(desk, png(), "photo")
    answer = await desk.call("GET", f"{path}?size={size}", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "VALIDATION_ERROR")


async def test_a_damaged_image_has_no_thumbnail_and_can_be_downloaded(desk: TestApp) -> None:
    damaged = png(640, 480)[:60]
    path = await with_portrait(desk, damaged, "photo")
    answer = await desk.call("GET", f"{path}?size=small", as_whom="acme")
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "UNPROCESSABLE_ENTITY")
    assert (await desk.call("GET", path, as_whom="acme")).content == damaged


async def test_the_row_shows_the_sizes_and_the_description_their_boxes(desk: TestApp) -> None:
    path = await with_portrait(desk, png(), "photo")
    row = await desk.call("GET", f"{path.rpartition('/')[0]}?include=photo", as_whom="acme")
    assert row.json()["data"]["photo"]["sizes"] == ["small"]
    described = await desk.call("GET", "/api/entities", as_whom="acme")
    (portraits,) = [found for found in described.json()["data"]["entities"] if found["plural"] == "portraits"]
    fields = {field["name"]: field for field in portraits["fields"]}
    assert fields["photoId"]["rules"]["thumbnails"] == {"small": [64, 48]}


async def test_metadata_is_not_stored_where_the_field_says_so(desk: TestApp) -> None:
    made_of = io.BytesIO()
    Image.new("RGB", (30, 20)).save(made_of, "JPEG", comment=SECRET)
    sent = made_of.getvalue() + SECRET
    stripped = await desk.call("GET", await with_portrait(desk, sent, "selfie"), as_whom="acme")
    unchanged = await desk.call("GET", await with_portrait(desk, sent, "photo"), as_whom="acme")
    assert SECRET not in stripped.content
    assert stripped.headers["etag"] == f'"{hashlib.sha256(stripped.content).hexdigest()}"'
    assert unchanged.content == sent
