"""The OpenAPI document: valid, complete, and the same as the one a reviewer saw."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated
from uuid import UUID

import httpx
import pytest
from litestar.routes import HTTPRoute
from msgspec import Struct
from openapi_spec_validator import OpenAPIV31SpecValidator

from adapters.http.app import HttpSettings, build_app
from adapters.http.docs.operations import camel
from adapters.http.docs.pages import About
from adapters.http.docs.served import OF_SERVICE, finished
from adapters.http.request.rules import RULES
from adapters.http.static_files import ASSETS
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, guarded
from domain.entities.markers import ref as reference
from domain.entities.registry import build_registry
from entrypoints.assembly.use_cases import Services
from tests.http.app import Json, TestApp
from tests.http.built_once import application_of
from tests.http.docs.digests import digest, entity_in_full
from tests.http.served import served_by

GOLDEN = Path(__file__).parent / "golden"
REWRITE = "TENANTRY_TEST_REWRITE_GOLDEN"


async def described(app: TestApp) -> Json:
    answer = await app.call("GET", "/docs/v1/docs.json")
    assert answer.headers["Content-Type"] == "application/json"
    document: Json = answer.json()
    return document


def document_of(services: Services, settings: HttpSettings | None = None) -> Json:
    """The document of an application on these services, without asking for it by HTTP."""
    document = finished(build_app(services, settings or HttpSettings()).openapi_schema.to_schema())
    return dict(json.loads(json.dumps(document)))


@pytest.mark.promise("entities, contract: an OpenAPI document of all entity endpoints, and a page for it")
async def test_it_is_valid_openapi(app: TestApp) -> None:
    OpenAPIV31SpecValidator(await described(app)).validate()


@pytest.mark.parametrize(("name", "view"), [("products.json", entity_in_full), ("operations.txt", digest)])
async def test_it_is_the_one_that_was_reviewed(app: TestApp, name: str, view: Callable[[Json], str]) -> None:
    text, golden = view(await described(app)), GOLDEN / name
    if os.environ.get(REWRITE):
        golden.write_text(text)
    assert golden.read_text() == text, f"the wire has changed; {REWRITE}=1 writes it down"


async def test_headers_have_the_same_order_in_every_process(app: TestApp) -> None:
    # Python orders a set of texts anew in each process
    paths = (await described(app))["paths"]
    answers = [answer for path in paths.values() for told in path.values() for answer in told["responses"].values()]
    created = [answer["headers"] for answer in answers if "Idempotent-Replayed" in answer.get("headers", {})]
    assert created
    for headers in created:
        own = [name for name in headers if not name.startswith("X-RateLimit")]
        assert own == sorted(own)


async def test_the_tags_of_own_entities_come_before_those_of_the_service(app: TestApp) -> None:
    tags = [tag["name"] for tag in (await described(app))["tags"]]
    assert tags[:5] == ["categories", "products", "reviews", "currencies", "auth"]
    of_service = document_of(replace(app.services, registry=build_registry(BUILTIN_ENTITIES)))["tags"]
    # routes of files are served for an entity with files only
    assert [tag for tag in tags[4:] if tag != "files"] == [tag["name"] for tag in of_service]
    assert set(tags[4:]) == OF_SERVICE


async def test_code_is_marked_as_in_markdown(app: TestApp) -> None:
    """Docstrings mark it with two backticks, as reStructuredText does."""
    document = json.dumps(await described(app))
    assert "`" in document
    assert "``" not in document


@pytest.mark.promise("entities, contract: an OpenAPI document of all entity endpoints, and a page for it")
async def test_every_endpoint_is_described(app: TestApp) -> None:
    document = await described(app)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert {operation["operationId"] for operation in operations} == {
        camel(served.operation) for served in served_by(app.services) if served.handler.resolve_include_in_schema()
    }


async def test_an_entity_has_one_schema_for_each_shape(app: TestApp) -> None:
    schemas = (await described(app))["components"]["schemas"]
    assert {"Product", "ProductCreate", "ProductUpdate", "ProductPage"} <= schemas.keys()
    assert not [name for name in schemas if "." in name or "_" in name]
    assert schemas["ProductCreate"]["required"] == ["name", "sku", "price"]
    assert schemas["ProductCreate"]["properties"]["sku"]["pattern"] == "^[A-Z0-9-]{3,32}$"


@entity("permits")
class Permission(Struct, rename="camel", kw_only=True):
    """Called like a schema of the service's own."""

    paper: str
    inside_id: Annotated[UUID | None, reference("permits")] = None


async def test_an_entity_does_not_replace_a_schema_of_the_service(app: TestApp) -> None:
    registry = build_registry([*BUILTIN_ENTITIES, Permission])
    document = document_of(replace(app.services, registry=registry))
    OpenAPIV31SpecValidator(document).validate()
    schemas = document["components"]["schemas"]
    assert "paper" in schemas["PermissionEntity"]["properties"]
    assert "paper" not in schemas["Permission"]["properties"]
    (shared,) = document["paths"]["/api/permits/{id}"]["get"]["responses"]["200"].values()
    response = document["components"]["responses"][shared.rpartition("/")[2]]
    shown = response["content"]["application/json"]["schema"]
    assert shown["properties"]["data"] == {"$ref": "#/components/schemas/PermissionEntity"}


class Status(Enum):
    """Called like an enum of the catalogue."""

    SENT = "sent"


@entity("parcels")
class Parcel(Struct, rename="camel", kw_only=True):
    status: Status


async def test_enums_of_one_name_have_schemas_without_the_names_of_modules(app: TestApp) -> None:
    registry = build_registry([*ENTITIES, *BUILTIN_ENTITIES, Parcel])
    document = document_of(replace(app.services, registry=registry))
    OpenAPIV31SpecValidator(document).validate()
    schemas = document["components"]["schemas"]
    assert [name for name in schemas if "." in name] == []
    assert schemas["Status"] == (await described(app))["components"]["schemas"]["Status"]
    assert schemas["ParcelCreate"]["properties"]["status"] == {"$ref": "#/components/schemas/Status2"}
    assert schemas["Status2"]["enum"] == ["sent"]


@pytest.mark.promise(
    "declarations, OpenAPI document: Operators are described once for each kind, and a list has one line for a property"
)
async def test_a_list_has_one_line_for_each_property_and_its_operators_once_for_all(app: TestApp) -> None:
    document = await described(app)
    shared, schemas = document["components"]["parameters"], document["components"]["schemas"]
    listed = document["paths"]["/api/products"]["get"]["parameters"]
    by_name = {part["name"]: part for part in (shared[given["$ref"].rpartition("/")[2]] for given in listed)}
    properties = [field.wire for field in app.services.registry["products"].fields]
    settings = {"page", "pageSize", "count", "cursor", "search", "sort", "sortBy", "sortDirection", "sortOrder"}
    assert by_name.keys() - settings - {"include", "fields", "includeDeleted"} == {
        *properties,
        "filters",
        "X-Tenant-Scope",
    }
    assert by_name["price"]["schema"] == {"$ref": "#/components/schemas/NumberFilter"}
    for name in ("gte", "isNull", "min<Property>"):
        assert f"`{name}`" in schemas["NumberFilter"]["description"]
    assert "startsWith" in schemas["TextFilter"]["description"]
    assert (by_name["filters"]["style"], by_name["filters"]["explode"]) == ("form", True)


@pytest.mark.promise(
    "declarations, OpenAPI document: a client that sends every default along is answered beside a cursor too"
)
async def test_the_defaults_sent_by_a_generated_client_are_accepted(app: TestApp) -> None:
    """Generated clients send the defaults of all parameters, beside a cursor too."""
    document = await described(app)
    first = await app.call("GET", "/api/audit-events?pageSize=1", as_whom="acme")
    cursor = first.json()["data"]["nextCursor"]
    for path, query in (("/api/audit-events", {"cursor": cursor}), ("/api/products", {}), ("/api/users", {})):
        taken = [resolved(part, document) for part in document["paths"][path]["get"]["parameters"]]
        sent = {part["name"]: part["schema"]["default"] for part in taken if "default" in part["schema"]}
        assert sent
        answer = await app.call("GET", path, as_whom="acme", params={**sent, **query})
        assert answer.status_code == 200, answer.text


def resolved(part: Json, document: Json) -> Json:
    found: Json = document["components"]["parameters"][part["$ref"].rpartition("/")[2]] if "$ref" in part else part
    return found


@pytest.mark.promise(
    "declarations, OpenAPI document: a row requires only what is always there; nextCursor, totalCountIsEstimate, "
    "…HasMore, tenantId and details[].row are in the document"
)
async def test_a_row_schema_requires_only_the_id_and_contains_every_optional_field(app: TestApp) -> None:
    schemas = (await described(app))["components"]["schemas"]
    assert schemas["Product"]["required"] == ["id"]
    assert {"tenantId", "category", "reviews", "reviewsHasMore"} <= schemas["Product"]["properties"].keys()
    assert {"nextCursor", "totalCountIsEstimate"} == schemas["ProductPage"]["properties"].keys() - set(
        schemas["ProductPage"]["required"]
    )
    assert "row" in schemas["FieldError"]["properties"]


async def test_every_timestamp_says_that_it_is_one(app: TestApp) -> None:
    schemas = (await described(app))["components"]["schemas"]
    moments = {
        f"{name}.{field}": said
        for name, schema in schemas.items()
        for field, said in schema.get("properties", {}).items()
        if field == "at" or field.endswith("At")
    }
    assert len(moments) > 40
    assert [name for name, said in moments.items() if "date-time" not in str(said)] == []


@pytest.mark.promise(
    "declarations, OpenAPI document: me.name is in it; bodies have no default of null; codes are enums and flags "
    "constants"
)
async def test_bodies_have_no_default_of_null_and_flags_and_codes_are_closed(app: TestApp) -> None:
    document = await described(app)
    assert '"default":null' not in json.dumps(document, separators=(",", ":"))
    schemas = document["components"]["schemas"]
    assert schemas["ErrorA"]["properties"]["isSuccess"] == {"type": "boolean", "const": False}
    assert "TOKEN_EXPIRED" in schemas["ErrorA"]["properties"]["errorCode"]["enum"]
    assert "BAD_REQUEST" in schemas["ErrorDetail"]["properties"]["code"]["enum"]
    assert "TOKEN_EXPIRED" not in schemas["ErrorDetail"]["properties"]["code"]["enum"]
    me = document["paths"]["/api/auth/me"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert {"name", "fullName"} <= me["properties"]["data"]["properties"].keys()


class Grade(Enum):
    SECRET_GRADE = "secret-grade"


@entity("films", search=["title", "hidden_note"])
class Film(Struct, rename="camel", kw_only=True):
    """A field of every kind of guard, and a reference that is guarded."""

    title: str
    hidden_note: Annotated[str, guarded(read="read:notes")]
    hidden_grade: Annotated[Grade | None, guarded(read="read:grades")] = None
    hidden_sequel_id: Annotated[UUID | None, reference("films"), guarded(read="read:sequels")] = None
    cost: Annotated[int | None, guarded(write="write:costs")] = None


@pytest.mark.promise("declarations, OpenAPI document: names of guarded fields are not in it")
def test_names_of_guarded_fields_are_not_in_it(app: TestApp) -> None:
    registry = build_registry([*BUILTIN_ENTITIES, Film])
    document = document_of(replace(app.services, registry=registry))
    OpenAPIV31SpecValidator(document).validate()
    text = json.dumps(document)
    for name in ("hiddenNote", "hiddenGrade", "Grade", "secret-grade", "hiddenSequel"):
        assert name not in text
    form = document["components"]["schemas"]["FilmCreate"]
    assert form["required"] == ["title"]
    assert "cost" in form["properties"]
    assert "additionalProperties" not in form
    schemas = document["components"]["schemas"]
    # a row shows them to a caller who may read them
    assert "/api/entities" in schemas["Film"]["additionalProperties"]["description"]
    assert "additionalProperties" not in schemas["Application"]


@pytest.mark.promise(
    "declarations, OpenAPI document: the document is small: errors that follow from the rest of an operation are told "
    "once"
)
async def test_it_is_small(app: TestApp) -> None:
    """It had 442,746 bytes when each operator was a parameter of each property in each operation, and has 365,000."""
    # room for some capabilities, each of which adds 2,000 to 15,000
    assert len((await app.call("GET", "/docs/v1/docs.json")).content) < 420_000


@pytest.mark.promise(
    "declarations, OpenAPI document: the document is small: errors that follow from the rest of an operation are told "
    "once"
)
async def test_implied_errors_are_described_once(app: TestApp) -> None:
    document = await described(app)
    responses = document["components"]["responses"]
    for area in "AB":
        told = responses[f"{area}default"]
        assert told["content"]["application/json"]["schema"] == {"$ref": f"#/components/schemas/Error{area}"}
        assert told["headers"].keys() == {"Retry-After"}
        assert [f"({status})" in told["description"] for status in (413, 415, 429, 500, 503)] == [True] * 5
    for path, item in document["paths"].items():
        for operation in item.values():
            is_oauth = operation["operationId"] == "oauthToken"
            assert is_oauth or operation["responses"]["default"]["$ref"].endswith("default"), path
            assert is_oauth or not {"413", "415", "429", "500"} & operation["responses"].keys(), path


async def test_its_example_is_taken(app: TestApp) -> None:
    document = await described(app)
    for path in ("/api/products", "/api/categories"):
        content = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        answer = await app.call("POST", path, as_whom="acme", json=content["example"])
        assert answer.status_code == 201, answer.text


def test_metrics_call_it_the_same_after_each_start(app: TestApp) -> None:
    """Litestar's own name of the document begins with random digits."""
    served = application_of(app.services, HttpSettings())
    handlers = [handler for route in served.routes if isinstance(route, HTTPRoute) for handler in route.route_handlers]
    names = {handler.opt[RULES].operation for handler in handlers if RULES in handler.opt}
    assert {name for name in names if "docs/v1" in name} == {"GET /docs/v1/openapi.json", "GET /docs/v1/{path}"}
    assert [name for name in names if re.search("[0-9a-f]{32}", name)] == []


def test_the_document_contains_the_configured_title_and_contact(app: TestApp) -> None:
    about = About(title="Shop", contact_name="Us", contact_email="us@example.com", license_url="https://example.com")
    info = document_of(app.services, HttpSettings(about=about))["info"]
    assert info["title"] == "Shop"
    assert info["contact"] == {"name": "Us", "email": "us@example.com"}
    assert info["license"]["url"] == "https://example.com"


@pytest.mark.promise("entities, contract: an OpenAPI document of all entity endpoints, and a page for it")
async def test_the_docs_page_loads_all_files_from_the_service(app: TestApp) -> None:
    page = await app.call("GET", "/docs/index.html")
    assert page.headers["Content-Type"].startswith("text/html")
    assert "http://" not in page.text
    assert "https://" not in page.text
    for name in ("swagger-ui-bundle.js", "swagger-ui.css", "docs.js", "docs.css", "LICENSE"):
        answer = await app.call("GET", f"/docs/assets/{name}")
        assert answer.status_code == 200
        again = await app.call("GET", f"/docs/assets/{name}", headers={"If-None-Match": answer.headers["ETag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_large_assets_are_compressed_beforehand(app: TestApp) -> None:
    for name in ("swagger-ui-bundle.js", "swagger-ui.css"):
        plain = await app.call("GET", f"/docs/assets/{name}", headers={"Accept-Encoding": "identity"})
        packed = await app.call("GET", f"/docs/assets/{name}", headers={"Accept-Encoding": "br;q=0, gzip"})
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert int(packed.headers["content-length"]) * 3 < int(plain.headers["content-length"])
        assert packed.content == plain.content == (ASSETS / name).read_bytes()  # httpx has unpacked it
        assert packed.headers["etag"] != plain.headers["etag"]
        assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"


async def test_nothing_else_is_served_as_an_asset(app: TestApp) -> None:
    for name in ("SHA256SUMS", "swagger-ui.css.gz", "..%2Fapp.py", "%2e%2e", "swagger-ui.css.map"):
        assert (await app.call("GET", f"/docs/assets/{name}")).status_code == 404


async def test_the_short_way_leads_to_the_page(app: TestApp) -> None:
    answer: httpx.Response = await app.call("GET", "/docs")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/docs/index.html")


def test_the_assets_are_those_that_were_published() -> None:
    import hashlib

    for line in (ASSETS / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        assert hashlib.sha256((ASSETS / name).read_bytes()).hexdigest() == digest
