"""Bodies and queries of the largest size with as many errors as possible: bounded answers in bounded time."""

import json
from collections.abc import Mapping
from itertools import count
from time import thread_time
from typing import Any

import httpx
import pytest

from adapters.http.request.body import BATCH_BODY, ENTITY_BODY, IDENTITY_BODY
from domain.errors import MOST_ERRORS, MOST_HINTS
from tests.http.app import TestApp

BUDGET = 0.5
"""Seconds of processor time for a request, decoding of 8 MB included: with a hint for each name it took a minute."""
ATTEMPTS = 3

Json = dict[str, Any]


def unknown_names(size: int, like: str = "priceOfProduct") -> Json:
    """An object of about ``size`` bytes of JSON, of names that are nearly known."""
    return {f"{like}{number}": 1 for number in range(size // (len(like) + 10))}


def batch(size: int) -> Json:
    return {"items": [unknown_names(size // 1_000 - 10) for _ in range(999)]}


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
    "batch of one item": ("POST", "/api/products/batch", {"items": [unknown_names(BATCH_BODY - 900_000)]}),
    "batch with other members": ("POST", "/api/products/batch", unknown_names(BATCH_BODY - 900_000)),
    "changed batch": ("PUT", "/api/products/batch", batch(BATCH_BODY - 500_000)),
    "ids": ("POST", "/api/products/batch/delete", {"ids": [1] * 1_000}),
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
