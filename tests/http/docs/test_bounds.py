"""Bounds of texts in the OpenAPI document: the service refuses what passes them, by the field's name."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.app import Json, TestApp
from tests.http.docs.test_openapi import described

BODIES: dict[tuple[str, str], Json] = {
    ("POST", "/api/auth/register"): {"email": "new@acme.example", "password": "a good long word", "fullName": "New"},
    ("POST", "/api/users"): {"email": "new@acme.example", "password": "a good long word", "fullName": "New"},
    ("PUT", "/api/auth/me"): {},
    ("POST", "/api/auth/me/email"): {"email": "new@acme.example"},
    ("POST", "/api/roles"): {"name": "New"},
    ("POST", "/api/permissions"): {"name": "read:news"},
    ("POST", "/api/tenants"): {"name": "New", "identifier": "new"},
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
