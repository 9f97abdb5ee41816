"""Bodies in the OpenAPI document, as generators of clients read them."""

import json
import re
from typing import Annotated

import msgspec
import pytest
from msgspec import Meta, Struct

from adapters.http.docs.components import correct
from tests.http.app import Json, TestApp
from tests.http.docs.test_openapi import described


@pytest.mark.promise(
    "declarations, OpenAPI document: a body has no defaults but in words, as generated types require such fields"
)
async def test_an_optional_field_of_a_body_has_its_default_in_words(app: TestApp) -> None:
    document = await described(app)
    bodies = [
        content["schema"]
        for item in document["paths"].values()
        for operation in item.values()
        for content in operation.get("requestBody", {}).get("content", {}).values()
    ]
    assert len(bodies) > 40
    schemas = document["components"]["schemas"]
    names, found = set[str](), json.dumps(bodies)
    while new := set(re.findall(r"schemas/(\w+)", found)) - names:
        names |= new
        found = json.dumps([schemas[name] for name in new])
    assert {"ImportForm", "ProductCreate", "Status"} <= names
    assert [name for name in names if '"default":' in json.dumps(schemas[name])] == []
    stated = {
        ("ProductCreate", "stock"): "0",
        ("ProductCreate", "status"): '"draft"',
        ("RoleForm", "permissions"): "[]",
        ("RotationForm", "overlapMinutes"): "1440",
        ("NewUserForm", "sendWelcomeEmail"): "false",
    }
    for (name, field), default in stated.items():
        assert schemas[name]["properties"][field]["description"].endswith(f"Default: `{default}`.")
        assert field not in schemas[name]["required"]
    assert "description" not in schemas["ProductCreate"]["properties"]["categoryId"]


class Size(Struct, kw_only=True):
    width: int = 1


class Sent(Struct, kw_only=True):
    """A body with a default of every kind: also in a nested struct, beside a description, and none."""

    size: Size
    count: Annotated[int, Meta(description="How many.")] = 1
    words: list[str] = []
    text: str | None = None
    name: str


class Both(Struct, kw_only=True):
    """A body that is also an answer: in the answer the field is always there."""

    count: int = 1
    text: str | None = None


def test_only_a_struct_that_is_also_an_answer_keeps_its_defaults() -> None:
    made: Json = msgspec.json.schema_components([Sent, Both])[1]
    correct(made, [Both], [Sent, Both])
    assert '"default":' not in json.dumps([made["Sent"], made["Size"]])
    assert made["Sent"]["properties"]["count"]["description"] == "How many. Default: `1`."
    assert made["Sent"]["properties"]["words"]["description"] == "Default: `[]`."
    assert "description" not in made["Sent"]["properties"]["text"]
    assert made["Size"]["properties"]["width"] == {"type": "integer", "description": "Default: `1`."}
    assert made["Both"]["properties"]["count"] == {"type": "integer", "default": 1}
    assert "default" not in made["Both"]["properties"]["text"]
