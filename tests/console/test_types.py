"""The console's types of the API are those of the OpenAPI document, and no screen writes its own."""

import os
import re
from copy import deepcopy

import pytest
import pytest_asyncio

from tests.console.api_types import FILE, USED, types_of
from tests.console.test_built import SOURCE
from tests.http.app import Json, open_test_app
from tests.http.docs.test_openapi import document_of


@pytest_asyncio.fixture(scope="module")
async def served() -> Json:
    app = await open_test_app()
    await app.client.aclose()
    return document_of(app.services)


@pytest.fixture
def document(served: Json) -> Json:
    """A copy, which the test may change."""
    return deepcopy(served)


def test_types_are_those_of_the_document(document: Json) -> None:
    made = types_of(document)
    if os.environ.get("TENANTRY_TEST_REWRITE_GOLDEN"):
        FILE.write_text(made)
    assert FILE.read_text() == made, (
        "answers changed: TENANTRY_TEST_REWRITE_GOLDEN=1 writes the types, then make console"
    )


def test_each_named_schema_is_used() -> None:
    sources = "".join(path.read_text() for path in (SOURCE / "src").rglob("*.ts*") if path != FILE)
    assert [name for name in USED if not re.search(rf"\b{name}\b", sources)] == []


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        ({"anyOf": [{"type": "string", "format": "uuid"}, {"type": "null"}]}, "id: string | null;"),
        ({"enum": ["a", "b"]}, 'id: "a" | "b";'),
        ({"type": "array", "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, "id: (number | null)[];"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "id: Record<string, number>;"),
    ],
)
def test_a_changed_answer_changes_the_types(document: Json, schema: Json, written: str) -> None:
    document["components"]["schemas"]["Tenant"]["properties"]["id"] = schema
    assert f"export interface Tenant {{\n  {written}" in types_of(document)
