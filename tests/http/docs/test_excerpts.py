"""The OpenAPI document of some tags: /docs/v1/docs.json?tag=auth,products."""

import json
import re

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from tests.http.app import Json, TestApp
from tests.http.docs.test_openapi import described


async def of(app: TestApp, tags: str) -> Json:
    answer = await app.call("GET", f"/docs/v1/docs.json?tag={tags}")
    assert answer.status_code == 200, answer.text
    document: Json = answer.json()
    return document


def operations(document: Json) -> dict[str, list[str]]:
    """Tags by operation."""
    items = document["paths"].values()
    return {told["operationId"]: told["tags"] for item in items for told in item.values() if "tags" in told}


@pytest.mark.promise(
    "declarations, OpenAPI document: `?tag=` answers the operations of some tags with the components that they need; "
    "an unknown tag is 400 with the list of tags"
)
async def test_the_document_of_each_tag_has_its_operations_and_all_that_they_need(app: TestApp) -> None:
    whole = await described(app)
    all_operations, seen = operations(whole), set[str]()
    for tag in (tag["name"] for tag in whole["tags"]):
        part = await of(app, tag)
        OpenAPIV31SpecValidator(part).validate()
        assert operations(part) == {name: tags for name, tags in all_operations.items() if tag in tags}
        assert part["tags"] == [{"name": tag}]
        assert part["components"]["securitySchemes"] == whole["components"]["securitySchemes"]
        seen |= operations(part).keys()
        referred = set(re.findall(r"#/components/(\w+)/([^\"]+)\"", json.dumps(part)))
        stored = {(kind, name) for kind, parts in part["components"].items() for name in parts}
        assert {place for place in stored if place[0] != "securitySchemes"} == referred
        for kind, name in referred:
            assert part["components"][kind][name] == whole["components"][kind][name]
    assert seen == all_operations.keys()


@pytest.mark.promise(
    "declarations, OpenAPI document: `?tag=` answers the operations of some tags with the components that they need; "
    "an unknown tag is 400 with the list of tags"
)
async def test_several_tags_are_separated_by_commas(app: TestApp) -> None:
    names = {tag: operations(await of(app, tag)).keys() for tag in ("auth", "products", "categories")}
    for tags in ("auth,products", "products,auth,categories", "products&tag=auth", "auth,auth"):
        asked = set(re.findall(r"auth|products|categories", tags))
        assert operations(await of(app, tags)).keys() == {name for tag in asked for name in names[tag]}


@pytest.mark.promise(
    "declarations, OpenAPI document: `?tag=` answers the operations of some tags with the components that they need; "
    "an unknown tag is 400 with the list of tags"
)
async def test_an_unknown_tag_is_refused_with_the_list_of_tags(app: TestApp) -> None:
    known = [tag["name"] for tag in (await described(app))["tags"]]
    for tags in ("product", "Products", "", "products,", "products, auth", "auth,x"):
        answer = await app.call("GET", f"/docs/v1/docs.json?tag={tags}")
        assert answer.status_code == 400
        (error,) = answer.json()["error"]["details"]
        assert error["field"] == "tag"
        assert error["message"].endswith(", ".join(known))


async def test_another_parameter_is_refused_by_its_name(app: TestApp) -> None:
    for query in ("tags=products", "x=1", "tag=products&page=1"):
        answer = await app.call("GET", f"/docs/v1/docs.json?{query}")
        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["error"]["details"]] != ["tag"]


async def test_each_excerpt_has_its_own_entity_tag(app: TestApp) -> None:
    answers = [await app.call("GET", f"/docs/v1/docs.json{query}") for query in ("", "?tag=products", "?tag=auth")]
    tags = [answer.headers["ETag"] for answer in answers]
    assert len(set(tags)) == 3
    again = await app.call("GET", "/docs/v1/docs.json?tag=auth", headers={"If-None-Match": tags[2]})
    assert (again.status_code, again.content) == (304, b"")
    other = await app.call("GET", "/docs/v1/docs.json?tag=products", headers={"If-None-Match": tags[2]})
    assert other.status_code == 200
