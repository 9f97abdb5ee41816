"""The OpenAPI document where it is served: made once, soon after the start or for the first request, beside others.

Bounds of texts in the OpenAPI document: the service refuses what passes them, by the field's name.
"""

import asyncio
import json
import time
from collections.abc import Iterator
from types import MethodType
from typing import Any, cast

import pytest
from litestar import Litestar

from adapters.http.app import HttpSettings, build_app
from adapters.http.docs.pages import About
from adapters.http.docs.served import CachedDocument, finished
from entrypoints.server.plugin import Service
from entrypoints.settings.settings import read_settings
from entrypoints.testing import app as testing
from entrypoints.testing.app import MEMORY, SECRET_KEY
from tests.http.app import Json, TestApp
from tests.http.docs.test_openapi import described
from tests.waiting import HUNG_AFTER


def test_building_the_application_makes_no_document(app: TestApp) -> None:
    """A request that asks before the preparation hardly waits: not much longer than an application takes to build."""
    built, made = [], []
    for _ in range(3):
        started = time.process_time()
        served = build_app(app.services, HttpSettings())
        built.append(time.process_time() - started)
        assert served.openapi_config is not None
        served.openapi_config.title = "Said after the start"  # which no document made before could know
        document = finished(served.openapi_schema.to_schema())
        made.append(time.process_time() - started - built[-1])
        assert document["info"]["title"] == "Said after the start"
    assert min(made) < 2 * min(built)


def titled(app: TestApp, title: str) -> Litestar:
    return build_app(app.services, HttpSettings(about=About(title=title)))


async def test_the_document_is_prepared_without_a_request(app: TestApp) -> None:
    document = CachedDocument(pause=0)
    async with document.prepared(titled(app, "Prepared")):
        for _ in range(3):  # the preparation has begun
            await asyncio.sleep(0)
        first = await document.built(titled(app, "Asked for"))
    assert json.loads(first)["info"]["title"] == "Prepared"
    assert await document.built(titled(app, "Asked for later")) is first


def test_the_service_prepares_the_document_that_it_serves() -> None:
    served = Service(read_settings({"TENANTRY_SECRET_KEY": SECRET_KEY}), runtime=MEMORY).application()
    assert served.openapi_config is not None
    assert served.openapi_config.openapi_router is not None
    (prepared,) = (
        manager.__self__
        for manager in served._lifespan_managers  # to wait for the preparation would need a second
        if isinstance(manager, MethodType) and manager.__func__ is CachedDocument.prepared
    )
    answer: Any = served.openapi_config.openapi_router.before_request
    assert answer.__self__ is prepared


async def test_a_request_before_the_preparation_does_not_wait_for_it(app: TestApp) -> None:
    document = CachedDocument(pause=HUNG_AFTER)
    async with document.prepared(titled(app, "Prepared")):
        assert json.loads(await document.built(titled(app, "Asked for")))["info"]["title"] == "Asked for"


async def test_a_failed_preparation_ends_no_service_and_is_tried_again_by_a_request(app: TestApp) -> None:
    document, no_application = CachedDocument(pause=0), cast(Litestar, object())
    async with document.prepared(no_application):
        for _ in range(3):
            await asyncio.sleep(0)
        assert json.loads(await document.built(titled(app, "Asked for")))["info"]["title"] == "Asked for"


async def test_a_service_that_ends_at_once_prepares_nothing(app: TestApp) -> None:
    document = CachedDocument()
    async with document.prepared(titled(app, "Prepared")):
        pass
    assert json.loads(await document.built(titled(app, "Asked for")))["info"]["title"] == "Asked for"


async def test_others_are_answered_while_it_is_made(app: TestApp) -> None:
    client = testing.client_of(build_app(app.services, HttpSettings()))
    asked, turns = asyncio.create_task(client.get("/docs/v1/docs.json")), 0
    while not asked.done():
        await asyncio.sleep(0)
        turns += 1
    assert asked.result().status_code == 200
    # a request whose handler never waits for a thread takes some ten turns of the loop
    assert turns > 40


async def test_all_of_its_paths_have_the_same_document(app: TestApp) -> None:
    client = testing.client_of(build_app(app.services, HttpSettings()))
    documents = [await client.get(f"/docs/v1{path}") for path in ("/openapi.json", "", "/docs.json", "/openapi.json")]
    assert len({document.content for document in documents}) == 1
    assert len({document.headers["ETag"] for document in documents}) == 1


BODIES: dict[tuple[str, str], Json] = {
    ("POST", "/api/auth/register"): {"email": "new@acme.example", "password": "a good long word", "fullName": "New"},
    ("POST", "/api/users"): {"email": "new@acme.example", "password": "a good long word", "fullName": "New"},
    ("PUT", "/api/auth/me"): {},
    ("POST", "/api/auth/me/email"): {"email": "new@acme.example"},
    ("POST", "/api/roles"): {"name": "New"},
    ("POST", "/api/permissions"): {"name": "read:news"},
    ("POST", "/api/tenants"): {"name": "New", "identifier": "fresh"},
    ("PUT", "/api/tenants/current/settings"): {},
    ("POST", "/api/service-accounts"): {"name": "New", "roles": []},
    ("POST", "/api/invitations"): {"email": "new@acme.example"},
}
"""Operations with a body that is valid but for the field that a case adds."""


@pytest.mark.parametrize("operation", BODIES, ids=" ".join)
async def test_a_text_beyond_its_bounds_is_refused_by_its_name(app: TestApp, operation: tuple[str, str]) -> None:
    await app.login("root", "admin@example.com")
    method, path = operation
    document = await described(app)
    content = document["paths"][path][method.lower()]["requestBody"]["content"]
    bounded = dict(bounds(document, content["application/json"]["schema"]))
    assert bounded
    for field, text in {(name, text) for name, bound in bounded.items() for text in beyond(bound)}:
        refused = await app.call(method, path, as_whom="root", json={**BODIES[operation], field: text})
        assert refused.status_code == 400, (field, text, refused.text)
        assert [error["field"] for error in refused.json()["errors"]] == [field]


def bounds(document: Json, schema: Json) -> Iterator[tuple[str, Json]]:
    """Fields of an object whose texts have bounds, with the schema of such a text."""
    for name, told in resolved(document, schema)["properties"].items():
        for part in told.get("anyOf", [told]):
            if part.get("type") == "string" and part.keys() & {"minLength", "maxLength"}:
                yield name, part


def resolved(document: Json, schema: Json) -> Json:
    found: Any = schema
    while "$ref" in found:
        found = document["components"]["schemas"][found["$ref"].rsplit("/", 1)[1]]
    return dict(found)


def beyond(bound: Json) -> Iterator[str]:
    if "maxLength" in bound:
        yield "x" * (bound["maxLength"] + 1)
    if bound.get("minLength", 0) > 0:
        yield "x" * (bound["minLength"] - 1)
