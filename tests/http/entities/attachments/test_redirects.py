"""Downloads that the store sends itself, with ``FILES_DOWNLOADS=redirect``."""

from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from adapters.http.app import HttpSettings
from adapters.memory.entities.attachments.objects import MemoryFileStore
from application.ports.entities.attachments import FileStore
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.contracts.entities.attachments.entities import ATTACHED
from tests.http.app import SETTINGS, TestApp, client_of, registry_of
from tests.http.conftest import seed
from tests.http.entities.attachments.desk import open_desk, png, with_photo
from tests.servers.s3_server import s3_server

REDIRECT = {"TENANTRY_FILES_DOWNLOADS": "redirect"}


class SigningStore(MemoryFileStore):
    """Makes readable addresses instead of signatures."""

    async def link(self, key: str, *, lifetime: timedelta, media_type: str, disposition: str) -> str | None:
        kind = disposition.partition(";")[0]
        return f"https://files.example/{key}?for={lifetime.seconds}&type={media_type}&as={kind}"


async def desk_with(store: FileStore, environment: dict[str, str] = REDIRECT) -> TestApp:
    settings = read_settings({**SETTINGS, **environment})
    made = memory_adapters(settings, registry_of(tuple(ATTACHED)))
    adapters = replace(made, files=replace(made.files, store=store))
    services = assemble(adapters, settings)
    await prepare_memory(services)
    app = TestApp(client_of(services, HttpSettings()), services, adapters)
    await seed(app)
    return app


@pytest.fixture
async def desk() -> TestApp:
    return await desk_with(SigningStore())


async def test_a_bucket_serves_a_photo_through_the_service_and_by_its_signed_address() -> None:
    with s3_server() as bucket:
        for environment, status in (({}, 200), (REDIRECT, 302)):
            desk = await desk_with(bucket.store("files"), environment)
            path = await with_photo(desk)
            answer = await desk.call("GET", f"{path}/photo", as_whom="acme")
            assert answer.status_code == status
            if status == 302:
                # curl and browsers do not send the token to another origin
                async with httpx.AsyncClient() as client:
                    answer = await client.get(answer.headers["location"])
            assert (answer.content, answer.headers["content-type"]) == (png(), "image/png")
            assert answer.headers["content-disposition"].startswith("inline;")


async def test_downloads_are_redirected_to_a_signed_address_of_the_store(desk: TestApp) -> None:
    path = await with_photo(desk)
    answer = await desk.call("GET", f"{path}/photo", as_whom="acme")
    assert (answer.status_code, answer.content, answer.headers["cache-control"]) == (302, b"", "no-store")
    address = answer.headers["location"]
    assert address.startswith("https://files.example/")
    assert address.endswith("?for=60&type=image/png&as=inline")
    saved = await desk.call("GET", f"{path}/photo?download=true", as_whom="acme")
    assert saved.headers["location"].endswith("&as=attachment")
    link = (await desk.call("POST", f"{path}/photo/link", as_whom="acme", json={})).json()["data"]["url"]
    assert (await desk.call("GET", link)).status_code == 302


async def test_the_service_streams_links_for_pages_that_allow_only_its_origin(desk: TestApp) -> None:
    path = await with_photo(desk)
    made = await desk.call("POST", f"{path}/photo/link", as_whom="acme", json={"stream": True})
    answer = await desk.call("GET", made.json()["data"]["url"])
    assert (answer.status_code, answer.content) == (200, png())


async def test_callers_who_may_not_read_a_row_get_no_address(desk: TestApp) -> None:
    path = await with_photo(desk)
    assert (await desk.call("GET", f"{path}/photo", as_whom="other")).status_code == 404


async def test_head_is_answered_without_a_redirect(desk: TestApp) -> None:
    path = await with_photo(desk)
    head = await desk.call("HEAD", f"{path}/photo", as_whom="acme")
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(png())))


async def test_a_store_without_addresses_streams() -> None:
    app = await open_desk(REDIRECT)
    path = await with_photo(app)
    assert (await app.call("GET", f"{path}/photo", as_whom="acme")).content == png()
