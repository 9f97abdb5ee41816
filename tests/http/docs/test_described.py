"""The check that every HTTP test makes of its answers: it detects what the OpenAPI document does not describe."""

import httpx
import jsonschema_rs
import pytest

from adapters.http.app import HttpSettings, build_app
from tests.http.app import Json, TestApp
from tests.http.described import Description, strict


@pytest.mark.promise(
    "declarations, OpenAPI document: each operation answers as the document says, every answer of the HTTP tests is "
    "held against it, and one that is not described is found"
)
async def test_an_undocumented_answer_is_detected(app: TestApp) -> None:
    """The check of all other tests can fail: a field of another type, a code of no enum, a status of none."""
    description = Description(build_app(app.services, HttpSettings()))
    good = {"isSuccess": False, "errorCode": "FORBIDDEN", "errorMessage": "No.", "errors": []}
    await description.hold(answer(403, good))
    for status, body in ((403, good | {"errorCode": "NO"}), (403, good | {"errors": None}), (418, good)):
        with pytest.raises(AssertionError):
            await description.hold(answer(status, body))


@pytest.mark.promise(
    "declarations, OpenAPI document: no answer has a member that the document does not describe; rows with guarded "
    "fields say that there are more"
)
async def test_a_member_that_the_document_does_not_describe_is_detected(app: TestApp) -> None:
    description = Description(build_app(app.services, HttpSettings()))
    await app.call("POST", "/api/products", as_whom="acme", json={"name": "P", "sku": "FIRST", "price": 1})
    page: Json = (await app.call("GET", "/api/products", as_whom="acme")).json()
    await description.hold(answer(200, page, "/api/products"))
    for place in (page, page["data"], page["data"]["items"][0]):
        place["undescribed"] = 1
        with pytest.raises(AssertionError, match="undescribed"):
            await description.hold(answer(200, page, "/api/products"))
        del place["undescribed"]
    await description.hold(answer(200, page, "/api/products"))


@pytest.mark.parametrize(
    ("schema", "value", "is_accepted"),
    [
        ({"properties": {"a": {}}}, {"a": 1}, True),
        ({"properties": {"a": {}}}, {"b": 1}, False),
        ({"properties": {"a": {"properties": {}}}}, {"a": {"b": 1}}, False),
        ({"items": {"properties": {"a": {}}}}, [{"b": 1}], False),
        ({"anyOf": [{"type": "null"}, {"properties": {"a": {}}}]}, {"b": 1}, False),
        ({"additionalProperties": {"properties": {"a": {}}}}, {"any": {"b": 1}}, False),
        ({"properties": {"properties": {"type": "object"}}}, {"properties": {"b": 1}}, True),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, {"b": 1}, True),
        ({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}, {"b": ""}, False),
        ({"const": {"properties": {}}}, {"properties": {}}, True),
        ({"enum": [{"properties": {}}]}, {"properties": {}}, True),
        ({"type": "object"}, {"b": 1}, True),
    ],
)
def test_a_strict_schema_accepts_only_described_members(schema: Json, value: object, is_accepted: bool) -> None:
    assert jsonschema_rs.is_valid(strict(schema), value) == is_accepted


def answer(status: int, body: Json, path: str = "/api/users") -> httpx.Response:
    return httpx.Response(status, json=body, request=httpx.Request("GET", f"http://localhost{path}"))
