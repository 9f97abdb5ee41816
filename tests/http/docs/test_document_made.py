"""The OpenAPI document where it is served: made when it is asked for, once, beside other requests."""

import asyncio
import time

from adapters.http.app import HttpSettings, build_app
from adapters.http.docs.served import finished
from entrypoints.testing import app as testing
from tests.http.app import TestApp


def test_it_is_made_when_it_is_asked_for(app: TestApp) -> None:
    """A start makes none, and the first who asks hardly waits: not much longer than an application takes to build."""
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
