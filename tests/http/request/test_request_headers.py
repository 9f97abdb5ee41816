"""Weights of what a client takes: content types, codings and languages are read by the same rules.

Ids of requests that bring none: random, and of their own in every process.

The service behind a proxy that takes a path off: what it tells clients to ask lies below that path.
"""

import multiprocessing
import re
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.http.console.pages import Console
from adapters.http.request.client_address import IDS_AT_ONCE, read_client
from adapters.http.request.quality_values import accepted_language, weights
from domain.words.languages import LANGUAGES
from tests.http.app import ADMIN, TestApp, open_test_app
from tests.http.request.test_pipeline import SMALL, answered


@pytest.mark.parametrize(
    ("part", "weight"),
    [
        ("a", 1.0),
        ("a;q=0.5", 0.5),
        ("A ; Q = 0.5 ", 0.5),
        ("a;charset=utf-8;q=0.25", 0.25),
        ("a;level=1", 1.0),
        ("a;q=2", 1.0),
        ("a;q=", 0.0),
        ("a;q", 0.0),
        ("a;q=-1", 0.0),
        ("a;q=nan", 0.0),
        ("a;q=1e999", 0.0),
        ("a;q=٣", 0.0),
    ],
)
def test_a_value_has_a_weight(part: str, weight: float) -> None:
    assert weights(part) == [("a", weight)]


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de-CH, en;q=0.9", "de"),
        ("en;q=0.5, de;q=0.9", "de"),
        ("fr, de;q=0.1", "de"),
        ("fr, de;q=0, en;q=0.1", "en"),
        ("de;q=2, en", "de"),
        ("de;q=x, en;q=0.1", "en"),
        ("de;level=1, en;q=0.1", "de"),
        ("*", None),
        ("fr", None),
        ("", None),
        (None, None),
        ("fr," * 500 + "de", None),
    ],
)
def test_a_browser_asks_for_a_language(header: str | None, language: str | None) -> None:
    assert accepted_language(header) == language


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading(header: str) -> None:
    assert accepted_language(header) in (None, *LANGUAGES)


def new_id() -> str:
    return read_client(cast(Any, {"client": ("127.0.0.1", 5000), "headers": []}), {}, ()).request_id


def test_ids_are_random_and_never_come_twice() -> None:
    made = [new_id() for _ in range(3 * IDS_AT_ONCE)]
    assert all(re.fullmatch("[0-9a-f]{32}", request_id) for request_id in made)
    assert len(set(made)) == len(made)


def test_a_forked_process_generates_different_ids() -> None:
    new_id()  # some are left over, and the child inherits the memory that holds them
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    child = fork.Process(target=_tell, args=(there,))
    child.start()
    theirs = here.recv()
    child.join()
    assert not set(theirs) & {new_id() for _ in range(2 * IDS_AT_ONCE)}


def _tell(there: Connection) -> None:
    there.send([new_id() for _ in range(IDS_AT_ONCE)])


PUBLIC = "https://id.example/tools/tenantry"


@pytest.fixture
async def app() -> TestApp:
    opened = await open_test_app(console=Console(base_url=PUBLIC, remembered=timedelta(days=7)))
    await opened.login("root", ADMIN)
    return opened


async def test_a_created_resource_is_found_at_its_location(app: TestApp) -> None:
    category = await app.call("POST", "/api/categories", as_whom="root", json={"name": "Lamps"})
    tenant = await app.call("POST", "/api/tenants", as_whom="root", json={"name": "Acme", "identifier": "acme"})
    assert category.headers["Location"] == f"/tools/tenantry/api/categories/{category.json()['data']['id']}"
    assert tenant.headers["Location"] == f"/tools/tenantry/api/tenants/{tenant.json()['data']['id']}"


async def test_the_document_names_the_path_and_the_page_is_found_below_it(app: TestApp) -> None:
    document = (await app.call("GET", "/docs/v1/docs.json")).json()
    assert document["servers"] == [{"url": "/tools/tenantry"}]
    assert (await app.call("GET", "/docs")).headers["Location"] == "/tools/tenantry/docs/index.html"


@pytest.mark.promise("security, transport: Authorization, Host, Content-Length and Content-Type stand once")
@pytest.mark.parametrize(
    ("coding", "length", "is_taken"),
    [
        ("chunked, chunked", None, False),
        ("gzip, chunked", None, False),
        ("chunked", "600", False),
        ("identity", "600", False),
        ("xchunked", None, False),
        ("", "600", False),
        ("chunked", None, True),
        ("Chunked", None, True),
        (None, "600", True),
    ],
)
async def test_a_body_is_either_chunked_or_has_a_length(
    app: TestApp, coding: str | None, length: str | None, is_taken: bool
) -> None:
    given = {"transfer_encoding": coding, "content_length": length}
    named = {name: value for name, value in given.items() if value is not None}
    start, end = await answered(app, "/api/auth/refresh", list(SMALL), content_type="application/json", **named)
    assert start["status"] == 400
    assert (b"Transfer-Encoding" not in end["body"]) is is_taken
