"""What the documents tell a reader to copy: the files are taken from them as they stand, and tried."""

import re
from pathlib import Path

import httpx
import pytest

from adapters.http.app import HttpSettings
from adapters.http.plugin import ServedTwice
from entrypoints.entities import EntitiesError, load_endpoints, load_registry
from tests.http.app import Json, TestApp, client_of, open_test_app
from tests.http.conftest import seed

DOCS = Path(__file__).resolve().parents[3] / "docs"
LAMP = {"name": "Lamp", "sku": "LAMP-1", "price": 19.99}


def copied(document: str, name: str, folder: Path) -> str:
    """The code that begins with ``# name``, written to a file of that name."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / document).read_text(), re.DOTALL)
    file = folder / name
    file.write_text(next(block for block in blocks if block.startswith(f"# {name}\n")))
    return str(file)


async def retiring_place(folder: Path) -> TestApp:
    names = ("tenantry.catalogue", copied("endpoints.md", "retiring.py", folder))
    load_registry(names)
    app = await open_test_app(own=load_endpoints(names))
    await seed(app)
    return app


async def test_an_endpoint_beside_the_generated_ones(tmp_path: Path) -> None:
    app = await retiring_place(tmp_path)
    path = (await app.call("POST", "/api/products", as_whom="acme", json=LAMP)).headers["Location"]
    answer = await app.call("POST", f"{path}/retire", as_whom="acme")
    assert (answer.status_code, answer.json()["data"]["status"], answer.headers["ETag"]) == (200, "retired", '"2"')
    for whom, status in (("reader", 403), ("other", 404)):
        assert (await app.call("POST", f"{path}/retire", as_whom=whom)).status_code == status
    stale = await app.call("POST", f"{path}/retire", as_whom="acme", headers={"If-Match": '"1"'})
    assert stale.status_code == 412
    described = (await app.call("GET", "/docs/v1/docs.json")).json()["paths"]["/api/products/{id}/retire"]["post"]
    assert described["x-permission"] == "update:products"
    await app.client.aclose()


async def test_the_same_path_twice_is_told(tmp_path: Path) -> None:
    file = copied("endpoints.md", "retiring.py", tmp_path)
    app = await open_test_app()
    with pytest.raises(ServedTwice, match="retire is served twice"):
        client_of(app.services, HttpSettings(own=load_endpoints((file,)) * 2))
    await app.client.aclose()


def test_what_is_no_endpoint_is_told(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text("ENTITIES = ()\nENDPOINTS = (1,)\n")
    with pytest.raises(EntitiesError, match="ENDPOINTS is a tuple of functions"):
        load_registry((str(file),))


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
    return answer.status_code, [one["field"] for one in error["details"]]
