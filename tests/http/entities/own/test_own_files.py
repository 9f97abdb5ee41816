"""What the documents tell a reader to copy: the files are taken from them as they stand, and tried."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from entrypoints.assembly.entities import EntitiesError, load_registry, load_routes, migration_folders
from entrypoints.server.plugin import Service
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import MEMORY
from tests.documentation.documents import copied
from tests.http.app import SETTINGS, Json, TestApp, open_test_app
from tests.http.conftest import seed

LAMP = {"name": "Lamp", "sku": "LAMP-1", "price": 19.99}


async def opened(*files: str) -> TestApp:
    names = ("tenantry.catalogue", *files)
    load_registry(names)
    app = await open_test_app(routes=load_routes(names))
    await seed(app)
    return app


@pytest_asyncio.fixture
async def shop(tmp_path: Path) -> AsyncIterator[TestApp]:
    """The catalogue with the routes of docs/endpoints.md."""
    names = ("retiring.py", "bundling.py", "restocking.py")
    app = await opened(*(copied("endpoints.md", name, tmp_path) for name in names))
    yield app
    await app.client.aclose()


async def create_lamp(app: TestApp, **values: object) -> str:
    answer = await app.call("POST", "/api/products", as_whom="acme", json={**LAMP, **values})
    assert answer.status_code == 201, answer.text
    return str(answer.headers["Location"])


async def test_an_additional_route_is_served_with_permissions_and_versions(shop: TestApp) -> None:
    path = await create_lamp(shop)
    answer = await shop.call("POST", f"{path}/retire", as_whom="acme")
    assert (answer.status_code, answer.json()["data"]["status"], answer.headers["ETag"]) == (200, "retired", '"2"')
    assert answer.json()["meta"]["requestId"] == answer.headers["X-Request-Id"]
    for whom, status in (("reader", 403), ("other", 404)):
        assert (await shop.call("POST", f"{path}/retire", as_whom=whom)).status_code == status
    assert (await shop.call("POST", f"{path}/retire")).status_code == 401
    stale = await shop.call("POST", f"{path}/retire", as_whom="acme", headers={"If-Match": '"1"'})
    assert stale.status_code == 412


@pytest.mark.promise(
    "declarations, projects: a route of one's own stands in the document with its permission, limit, body, answer and "
    "ETag"
)
async def test_an_additional_route_is_in_the_document(shop: TestApp) -> None:
    document = (await shop.call("GET", "/docs/v1/docs.json")).json()
    described = document["paths"]["/api/products/{id}/retire"]["post"]
    assert (described["x-permission"], described["x-rate-limit"]) == (
        "update:products",
        {"requests": 100, "seconds": 60},
    )
    assert schema_of(described, document) == {"$ref": "#/components/schemas/Product"}
    tag = {"schema": {"type": "string"}, "description": "The version, for `If-Match` and `If-None-Match`."}
    assert response_of(described, document)["headers"]["ETag"] == tag
    low = response_of(document["paths"]["/api/stock/low"]["get"], document)
    assert "ETag" not in low["headers"]
    assert "version" in document["components"]["schemas"]["Product"]["properties"]
    assert schema_of(document["paths"]["/api/stock/low"]["get"], document) == {
        "$ref": "#/components/schemas/ProductPage"
    }
    assert document["components"]["schemas"]["Delivery"]["properties"]["pieces"]["maximum"] == 10_000


def response_of(operation: Json, document: Json) -> Json:
    response: Json = operation["responses"]["200"]
    if "$ref" in response:
        response = document["components"]["responses"][response["$ref"].rpartition("/")[2]]
    return response


def schema_of(operation: Json, document: Json) -> object:
    return response_of(operation, document)["content"]["application/json"]["schema"]["properties"]["data"]


async def test_a_controller_reads_pages_and_enforces_rules(shop: TestApp) -> None:
    path = await create_lamp(shop, stock=2)
    low = (await shop.call("GET", "/api/stock/low", as_whom="reader")).json()["data"]
    assert [row["sku"] for row in low["items"]] == ["LAMP-1"]
    assert (low["totalCount"], low["hasNextPage"]) == (1, False)
    assert (await shop.call("GET", "/api/stock/low?below=2", as_whom="acme")).json()["data"]["items"] == []
    delivery = {"productId": path.rpartition("/")[2], "pieces": 10}
    answer = await shop.call("POST", "/api/stock/deliveries", as_whom="acme", json=delivery)
    assert (answer.status_code, answer.json()["data"]["stock"]) == (200, 12)
    wrong = await shop.call("POST", "/api/stock/deliveries", as_whom="acme", json={"productId": "x", "pieces": 0})
    assert told(wrong) == (400, ["productId", "pieces"])
    foreign = await shop.call("POST", "/api/stock/deliveries", as_whom="other", json=delivery)
    assert foreign.status_code == 404
    await shop.call("POST", f"{path}/retire", as_whom="acme")
    refused = await shop.call("POST", "/api/stock/deliveries", as_whom="acme", json=delivery)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "UNPROCESSABLE_ENTITY")


async def test_a_bundle_is_stored_as_a_whole(shop: TestApp) -> None:
    await create_lamp(shop)
    for whom, sku, status in (("acme", "LAMP-1", 409), ("reader", "LAMP-2", 403), ("acme", "LAMP-2", 201)):
        bundle = {"category": "Lamps", "prices": {"BULB-1": "2.50", sku: 30}}
        assert (await shop.call("POST", "/api/bundles", as_whom=whom, json=bundle)).status_code == status
    page = await shop.call("GET", "/api/products?category.name=Lamps&sort=sku", as_whom="acme")
    assert [(row["sku"], row["price"]) for row in page.json()["data"]["items"]] == [("BULB-1", 2.5), ("LAMP-2", 30.0)]


BEGINNING = """
from litestar import Request, WebSocket, asgi, get, post, route, websocket
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath
from litestar.types import Receive, Scope, Send
from uuid import UUID
from litestar.params import JSONBody
from litestar import Response
from msgspec import Meta, Struct
from tenantry import ORDINARY, PUBLIC, DataResponse, EntityData, entity, rules
from typing import Annotated

class Form(Struct):
    note: Annotated[str | None, Meta(max_length=5)] = None

RULES = rules(policy=PUBLIC, limit=ORDINARY)
ENTITIES = ()
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("ROUTES = (1,)", r"wrong.py: ROUTES holds 1, which is no Litestar handler"),
        ("def plain(): ...\nROUTES = [plain]", r"wrong.py: ROUTES holds <function plain"),
        ("ROUTES = 'x'", r"wrong.py: ROUTES is no tuple"),
        ("ENDPOINTS = ()", r"wrong.py: ENDPOINTS is not read any more"),
    ],
)
def test_a_value_in_routes_that_is_not_a_route_is_reported(tmp_path: Path, code: str, said: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(f"{BEGINNING}{code}\n")
    with pytest.raises(EntitiesError, match=said):
        load_registry((str(file),))


ALONE = """
from litestar import get
from tenantry import ORDINARY, PUBLIC, entity, rules
from tenantry.catalogue import Product

@get("/own", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def own() -> str:
    return Product.__name__

ROUTES = (own,)
"""


async def test_a_file_may_contain_only_routes(tmp_path: Path) -> None:
    file = tmp_path / "alone.py"
    file.write_text(ALONE)
    app = await opened(str(file))
    assert (await app.call("GET", "/own")).text == "Product"
    await app.client.aclose()


def test_migrations_are_written_next_to_files_that_may_have_entities(tmp_path: Path) -> None:
    names = [str(tmp_path / name) for name in ("first/books.py", "second/loans.py", "first/lending.py", "third/own.py")]
    for name in names:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("ENTITIES = ()" if name.endswith(("books.py", "loans.py")) else ALONE)
    folders = migration_folders(["tenantry.catalogue", *names])
    assert [folder.parent.name for folder in folders] == ["third", "first", "second"]
    assert [folder.parent.name for folder in migration_folders(["tenantry.catalogue", names[3]])] == ["third"]


def test_entities_next_to_routes_that_are_not_listed_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "unlisted.py"
    file.write_text(f'{ALONE}\n@entity("books")\nclass Book(Product):\n    pages: int\n\nENTITES = (Book,)\n')
    with pytest.raises(EntitiesError, match=r"unlisted.py declares Book and has no ENTITIES: name them there"):
        load_registry((str(file),))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("@get('/own')\nasync def own() -> None: ...", r"ROUTES: \S*own states no policy or no limit"),
        ("@get('/own', opt={'rules': RULES})\nasync def own() -> None: ...", r"own states no policy or no limit"),
        (
            "@get('/api/products/{slug:uuid}', opt=RULES)\nasync def own(slug: FromPath[UUID]) -> str: ...",
            r"GET /api/products/\{id:str\} and /api/products/\{slug:uuid\} are one path",
        ),
        ("@post('/api/auth/login', opt=RULES)\nasync def own() -> None: ...", "POST /api/auth/login is served twice"),
        (
            (
                "@route('/own', http_method=['OPTIONS'], opt=RULES)\nasync def options() -> None: ...\n"
                "@route('/own', http_method=['OPTIONS', 'GET'], opt=RULES)\nasync def both() -> str: ...\n"
                "own = (options, both)"
            ),
            "OPTIONS /own is served twice: all handlers of a path belong to one router",
        ),
        (
            (
                "async def whose(request: Request) -> str: ...\n"
                "async def words(whose: NamedDependency[str]) -> str: ...\n"
                "GIVEN = {'whose': Provide(whose, use_cache=True), 'words': Provide(words)}\n"
                "@get('/own', opt=RULES, dependencies=GIVEN)\n"
                "async def own(words: NamedDependency[str]) -> str: ..."
            ),
            "own takes whose, which use_cache keeps from one request for all callers",
        ),
        ("@websocket('/own', opt=RULES)\nasync def own(socket: WebSocket) -> None: ...", r"own is a WebSocket or ASGI"),
        (
            (
                "@asgi('/own', opt=RULES, copy_scope=True)\n"
                "async def own(scope: Scope, receive: Receive, send: Send) -> None: ..."
            ),
            "own is a WebSocket or ASGI handler, for which no policy is judged",
        ),
        ("@get('/own', opt=RULES)\nasync def own(rows: 'Nothing') -> None: ...", "Nothing"),
        (
            "@post('/own', opt=RULES)\nasync def own(data: JSONBody[Form]) -> None: ...",
            r"wrong.py: ROUTES: own accepts or answers Form: .*, as in Annotated\[str, Meta\(…\)\] \| None",
        ),
        ("@get('/own', opt=RULES)\nasync def own() -> Response[list[Form]]: ...", r"own accepts or answers Form: "),
        (
            "@get('/own', opt=RULES)\nasync def own() -> EntityData[list[Form]]: ...",
            r"own accepts or answers list\S+Form\]: ",
        ),
        ("@get('/own', opt=RULES)\nasync def own(): ...", "return"),
        (
            "@get('/own', opt=RULES)\nasync def own(goods: NamedDependency[str]) -> str: ...",
            "- ROUTES: own takes goods, which nothing is called: the rows of an entity are called by its plural",
        ),
    ],
)
def test_a_route_that_cannot_be_served_is_reported(tmp_path: Path, code: str, said: str) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(f"{BEGINNING}{code}\nROUTES = own if isinstance(own, tuple) else (own,)\n")
    settings = read_settings({**SETTINGS, "TENANTRY_ENTITIES": f"tenantry.catalogue,{file}"})
    with pytest.raises(EntitiesError, match=said):
        Service(settings, runtime=MEMORY).application()


async def test_a_rule_on_other_rows(tmp_path: Path) -> None:
    registry = load_registry((copied("rules.md", "rooms.py", tmp_path),))
    app = await open_test_app(entities=(registry["rooms"].struct, registry["bookings"].struct))
    await seed(app)
    room = await made(app, "rooms", name="Blue")

    async def book(first: int, last: int, where: str = room) -> httpx.Response:
        days = {"firstDay": f"2026-12-{first:02}", "lastDay": f"2026-12-{last:02}"}
        return await app.call("POST", "/api/bookings", as_whom="acme", json={"roomId": where, "guest": "Ada", **days})

    assert told(await book(9, 5)) == (422, ["lastDay"])
    assert (await book(5, 9)).status_code == 201
    assert told(await book(9, 12)) == (422, ["firstDay"])
    later = await book(10, 12)
    assert later.status_code == 201
    moved = await app.call("PUT", later.headers["Location"], as_whom="acme", json={"firstDay": "2026-12-08"})
    assert told(moved) == (422, ["firstDay"])
    await app.call("PUT", f"/api/rooms/{room}", as_whom="acme", json={"isOpen": False})
    assert told(await book(20, 21)) == (422, ["roomId"])
    other = await made(app, "rooms", name="Green")
    assert told(await app.call("PUT", later.headers["Location"], as_whom="acme", json={"roomId": other})) == (
        422,
        ["roomId"],
    )
    await app.client.aclose()


async def made(app: TestApp, plural: str, **values: object) -> str:
    answer = await app.call("POST", f"/api/{plural}", as_whom="acme", json=values)
    row_id: str = answer.json()["data"]["id"]
    return row_id


def told(answer: httpx.Response) -> tuple[int, list[str]]:
    error: Json = answer.json()["error"]
    return answer.status_code, [field["field"] for field in error["details"]]
