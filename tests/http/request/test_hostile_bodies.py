"""Bodies and queries of the largest size with as many errors as possible: bounded answers in bounded time."""

import asyncio
import json
from collections.abc import Awaitable, Mapping
from itertools import count
from time import thread_time
from typing import Any
from uuid import uuid4

import httpx
import pytest

from adapters.http.request.body import BATCH_BODY, ENTITY_BODY, IDENTITY_BODY
from domain.entities.transactions.items import MOST_ITEMS
from domain.errors import MOST_ERRORS, MOST_HINTS
from tests.http.app import TestApp
from tests.http.served import Served, served_by

BUDGET = 0.5
"""Seconds of processor time for a request, reading of 8 MB included: with a hint for each name it took a minute."""
HELD = 0.1
"""Seconds of processor time between two turns of the event loop: twice what is measured on a machine at rest."""
ATTEMPTS = 3

Json = dict[str, Any]


def unknown_names(size: int, like: str = "priceOfProduct") -> Json:
    """An object of about ``size`` bytes of JSON, of names that are nearly known."""
    return {f"{like}{number}": 1 for number in range(size // (len(like) + 10))}


def batch(size: int) -> Json:
    return {"items": [unknown_names(size // 1_000 - 10) for _ in range(999)]}


def operations(size: int) -> Json:
    values = unknown_names(size // 110)
    return {"operations": [{"op": "create", "entity": "products", "values": values} for _ in range(100)]}


def named(count: int) -> Json:
    """Creates with a name each, each value of which names one."""
    values = {f"field{number}": {"$id": f"n{number}"} for number in range(200)}
    made = [{"op": "create", "entity": "products", "as": f"n{number}", "values": values} for number in range(count)]
    return {"operations": made}


def listed(answer: httpx.Response) -> list[Json]:
    body = answer.json()
    errors: list[Json] = body["errors"] if "errors" in body else body["error"]["details"]
    return errors


def message_of(answer: httpx.Response) -> str:
    body = answer.json()
    message: str = body["errorMessage"] if "errorMessage" in body else body["error"]["message"]
    return message


HOSTILE: Mapping[str, tuple[str, str, Json]] = {
    "login": ("POST", "/api/auth/login", unknown_names(IDENTITY_BODY - 500, "passwor")),
    "registration": ("POST", "/api/auth/register", unknown_names(IDENTITY_BODY - 500, "fullNam")),
    "new user": ("POST", "/api/users", unknown_names(IDENTITY_BODY - 500, "emai")),
    "settings": ("PUT", "/api/tenants/current/settings", {"branding": unknown_names(IDENTITY_BODY - 500, "logoUr")}),
    "new row": ("POST", "/api/products", unknown_names(ENTITY_BODY - 200_000)),
    "batch": ("POST", "/api/products/batch", batch(BATCH_BODY - 500_000)),
    "batch of one item": ("POST", "/api/products/batch", {"items": [unknown_names(ENTITY_BODY - 200_000)]}),
    "batch with other members": ("POST", "/api/products/batch", unknown_names(ENTITY_BODY - 200_000)),
    "changed batch": ("PUT", "/api/products/batch", batch(BATCH_BODY - 500_000)),
    "ids": ("POST", "/api/products/batch/delete", {"ids": [1] * 1_000}),
    "operations": ("POST", "/api/operations", operations(ENTITY_BODY - 200_000)),
    "operation": ("POST", "/api/operations", {"operations": operations(100 * ENTITY_BODY)["operations"][:1]}),
    "operations with names": ("POST", "/api/operations", named(100)),
    "operations of nothing": ("POST", "/api/operations", {"operations": [{}] * 100}),
    "upsert": ("POST", "/api/products/batch/upsert", {"key": "sku", **batch(BATCH_BODY - 500_000)}),
    "upsert with an unknown key": ("POST", "/api/products/batch/upsert", {"key": "s" * 900, **batch(9_000_000 // 2)}),
}


@pytest.mark.promise("security, input: an error lists 100 invalid fields, ten of them with a hint, in bounded time")
@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_body_gets_a_bounded_answer_in_bounded_time(app: TestApp, name: str) -> None:
    method, path, body = HOSTILE[name]
    sent, took = json.dumps(body).encode(), list[float]()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {app.tokens['acme']}"}
    answer = httpx.Response(0)
    for _ in range(ATTEMPTS):
        started = thread_time()
        answer = await app.client.request(method, path, content=sent, headers=headers)
        took.append(thread_time() - started)
    assert answer.status_code == 400, answer.text[:500]
    errors = listed(answer)
    assert len(errors) == MOST_ERRORS
    assert f"Only the first {MOST_ERRORS} errors are listed." in message_of(answer)
    assert sum("did you mean" in error["message"] for error in errors) <= MOST_HINTS
    assert len(answer.content) < 64 * 1024
    assert min(took) < BUDGET, took


LARGE: Mapping[str, tuple[bytes, str]] = {
    "numbers": (b'{"items":[%b1]}' % (b"1," * 4_000_000), "commas"),
    "empty objects": (b'{"items":[%b{}]}' % (b"{}," * 2_500_000), "commas"),
    "nested lists": (b'{"items":[%b1]}' % (b"[[[[[[[[]]]]]]]]," * 400_000), "1,000 entries"),
    "an item of nested lists": (
        b'{"items":[{"name":"%b"},[%b1]]}' % (b"x" * 900_000, b"[[[]]]," * 30_000),
        "objects and lists",
    ),
    "an item of 2 MB": (b'{"items":[{"name":"%b"}]}' % (b"x" * 2_000_000), "1024 kB at most"),
    "other members": (json.dumps(unknown_names(BATCH_BODY - 900_000)).encode(), "`items` only"),
    "items twice": (b'{"items":[],"items":[{"name":"%b"}]}' % (b"x" * 1_100_000), "contains a name twice"),
    "a name twice in an item": (b'{"items":[{"a":"%b"},{"b":1,"b":2}]}' % (b"x" * 1_040_000), "contains a name twice"),
    "no JSON": (b'{"items":[{"a":"%b"}' % (b"x" * 1_100_000), "`items` only"),
    "no UTF-8": (b'{"items":[{"a":"%b\xff"}]}' % (b"x" * 1_100_000), "UTF-8"),
}


@pytest.mark.parametrize("name", LARGE)
async def test_a_large_body_that_cannot_be_read_in_time_is_refused(app: TestApp, name: str) -> None:
    sent, message = LARGE[name]
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {app.tokens['acme']}"}
    held, answer = await held_by(app.client.post("/api/products/batch", content=sent, headers=headers))
    assert (answer.status_code, message in message_of(answer)) == (400, True), message_of(answer)
    assert held < HELD


async def test_a_batch_of_the_largest_size_is_stored(app: TestApp) -> None:
    text = ", ".join(["a, b: {c} [d]"] * 120)
    items = [{"name": f"Lamp {n}", "sku": f"L-{n}", "price": "1.00", "description": text} for n in range(MOST_ITEMS)]
    assert len(json.dumps({"items": items})) > ENTITY_BODY
    answer = await app.call("POST", "/api/products/batch", as_whom="acme", json={"items": items})
    assert answer.status_code == 200, message_of(answer)
    assert [row["description"] for row in answer.json()["data"]["items"]] == [text] * MOST_ITEMS


async def test_no_route_holds_the_event_loop_for_a_hostile_body(app: TestApp) -> None:
    """Every route that reads JSON gets the largest body that it accepts, of unknown names, lists and quotes."""
    held = dict[str, float]()
    for served in served_by(app.services):
        if not served.has_body or served.path == "/api/auth/logout":
            continue
        for kind, body in hostile_bodies(served).items():
            path = served.path.replace("{path:path}", "x")
            while "{" in path:
                path = f"{path[: path.index('{')]}{uuid4()}{path[path.index('}') + 1 :]}"
            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {app.tokens['root in acme']}"}
            time, answer = await held_by(app.client.request(served.method, path, content=body, headers=headers))
            assert 400 <= answer.status_code < 500, (served.path, kind, answer.text[:300])
            held[f"{served.method} {served.path} {kind}"] = time
    assert len(held) > 100
    assert {name: time for name, time in held.items() if time > HELD} == {}


def hostile_bodies(served: Served) -> Mapping[str, bytes]:
    size = served.handler.resolve_request_max_body_size() or IDENTITY_BODY
    assert size <= BATCH_BODY, served.path
    names = batch(size - 500_000) if size == BATCH_BODY else unknown_names(size * 4 // 5)
    return {
        "names": json.dumps(names).encode(),
        "lists": b'{"items":[%b1]}' % (b"[[[[]]]]," * (size // 9 - 3)),
        "numbers": b'{"ids":[%b1]}' % (b"1.5," * (size // 4 - 10)),
        "quotes": b'%b"%b' % (b"[" * (size // 4), rb"\"" * (size // 4)),
    }


async def held_by(request: Awaitable[httpx.Response]) -> tuple[float, httpx.Response]:
    """The longest processor time between two turns of the event loop during a request, and its answer."""
    longest, is_over = 0.0, False

    async def take_turns() -> None:
        nonlocal longest
        last = thread_time()
        while not is_over:
            await asyncio.sleep(0)
            longest, last = max(longest, thread_time() - last), thread_time()

    turns = asyncio.create_task(take_turns())
    try:
        answer = await request
    finally:
        is_over = True
        await turns
    return longest, answer


@pytest.mark.parametrize(("path", "known"), [("/api/products", "pageSize"), ("/api/users", "pageSize")])
async def test_a_query_of_many_unknown_names_gets_ten_hints(app: TestApp, path: str, known: str) -> None:
    numbers = count()
    query = "&".join(f"{known}{next(numbers)}=1" for _ in range(40))
    answer = await app.call("GET", f"{path}?{query}", as_whom="acme")
    assert answer.status_code == 400
    assert sum("did you mean" in error["message"] for error in listed(answer)) in (MOST_HINTS // 2, MOST_HINTS)


@pytest.mark.parametrize("fields", [1, MOST_HINTS, MOST_HINTS + 1, MOST_ERRORS])
async def test_up_to_100_invalid_fields_are_all_listed(app: TestApp, fields: int) -> None:
    body = {"name": "Lamp", "sku": "L-1", "price": "1.00", **{f"nam{number}": 1 for number in range(fields)}}
    answer = await app.call("POST", "/api/products", as_whom="acme", json=body)
    assert (answer.status_code, len(listed(answer))) == (400, fields)
    assert "Only the first" not in message_of(answer)
    assert sum("did you mean" in error["message"] for error in listed(answer)) == min(fields, MOST_HINTS)


@pytest.mark.parametrize("fields", [MOST_ERRORS + 1, 150, 5_000])
async def test_further_invalid_fields_are_mentioned(app: TestApp, fields: int) -> None:
    body = {"items": [{"name": "Lamp", "sku": "L-1", "price": "1.00"}, {f"nam{n}": 1 for n in range(fields)}]}
    answer = await app.call("POST", "/api/products/batch", as_whom="acme", json=body)
    assert (answer.status_code, len(listed(answer))) == (400, MOST_ERRORS)
    assert "Only the first" in message_of(answer)
