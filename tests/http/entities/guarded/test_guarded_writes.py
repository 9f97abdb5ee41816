"""Fields that a caller may write and not read: errors name them where the caller sent them, and tell nothing stored."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Annotated
from uuid import UUID

import pytest_asyncio
from msgspec import Struct

from domain.entities.markers import entity, guarded, ref, unique
from domain.errors import FieldError, UnprocessableEntity
from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.entities.files.test_transfers import send

PIN = guarded(read="read:pins", write="write:pins")
NOTHING = str(UUID(int=7))
NO_SUCH_ROW = {"message": "refers to nothing that exists"}


@entity("badges", unique=[unique("label"), unique("pin")])
class Badge(Struct, rename="camel", kw_only=True):
    label: str
    weight: int = 0
    pin: Annotated[str | None, PIN] = None
    deputy_id: Annotated[UUID | None, ref("badges"), PIN] = None

    def check(self, before: "Badge | None") -> Iterator[FieldError]:
        if self.weight > 5:
            yield FieldError("pin", f"{before and before.pin} takes at most 5")


ALL = [f"{action}:badges" for action in ("create", "read", "update", "delete")]


@pytest_asyncio.fixture
async def badges() -> AsyncIterator[TestApp]:
    """``writer`` writes pins and reads none."""
    opened = await open_test_app(entities=[Badge])
    await seed(opened)
    await opened.make_role("acme", "writer", [*ALL, "write:pins"])
    await opened.make_user("acme", "writer@acme.example", ["writer"])
    await opened.login("writer", "writer@acme.example")
    yield opened
    await opened.client.aclose()


async def call(app: TestApp, method: str, path: str, body: Json) -> tuple[int, list[Json]]:
    answer = await app.call(method, path, as_whom="writer", json=body)
    return answer.status_code, answer.json()["error"].get("details", [])


async def made(app: TestApp, label: str, **values: object) -> Json:
    answer = await app.call("POST", "/api/badges", as_whom="acme", json={"label": label, **values})
    data: Json = answer.json()["data"]
    return data


async def test_a_wrong_reference_of_the_callers_own_is_named(badges: TestApp) -> None:
    row = await made(badges, "a", pin="1")
    path, wrong = f"/api/badges/{row['id']}", {"deputyId": NOTHING}
    named, item = [{"field": "deputyId", **NO_SUCH_ROW}], [{"field": "items[1].deputyId", **NO_SUCH_ROW}]
    assert await call(badges, "POST", "/api/badges", {"label": "b", **wrong}) == (400, named)
    assert await call(badges, "PUT", path, wrong) == (400, named)
    good = {"label": "c"}
    assert await call(badges, "POST", "/api/badges/batch", {"items": [good, {"label": "b", **wrong}]}) == (400, item)
    other = await made(badges, "d")
    items = [{"id": other["id"], "weight": 1}, {"id": row["id"], **wrong}]
    assert await call(badges, "PUT", "/api/badges/batch", {"items": items}) == (400, item)


async def test_a_value_of_the_callers_own_that_is_taken_is_named(badges: TestApp) -> None:
    await made(badges, "a", pin="1")
    row = await made(badges, "b", pin="2")
    status, details = await call(badges, "PUT", f"/api/badges/{row['id']}", {"pin": "1"})
    assert (status, [wrong["field"] for wrong in details]) == (409, ["pin"])


async def test_a_conflict_in_a_value_that_was_not_sent_names_no_field(badges: TestApp) -> None:
    """A row that comes back has the pin that another has by now."""
    row = await made(badges, "a", pin="1")
    await badges.call("DELETE", f"/api/badges/{row['id']}", as_whom="acme")
    await made(badges, "b", pin="1")
    assert await call(badges, "POST", f"/api/badges/{row['id']}/restore", {}) == (409, [])


async def test_a_broken_rule_on_an_unreadable_stored_value_has_no_details(badges: TestApp) -> None:
    row, other = await made(badges, "a", pin="secret"), await made(badges, "b", pin="secret too")
    path, heavy, said = f"/api/badges/{row['id']}", {"weight": 6}, UnprocessableEntity.sentence
    assert await call(badges, "PUT", path, heavy) == (422, [])
    assert await call(badges, "PUT", path, {**heavy, "pin": "3"}) == (422, [{"field": "pin", "message": said}])
    items = [{"id": other["id"], "weight": 1}, {"id": row["id"], **heavy}]
    told = await call(badges, "PUT", "/api/badges/batch", {"items": items})
    assert told == (422, [{"field": "items[1]", "message": said}])
    items[1]["pin"] = "3"
    told = await call(badges, "PUT", "/api/badges/batch", {"items": items})
    assert told == (422, [{"field": "items[1].pin", "message": said}])


async def test_an_import_names_a_wrong_reference_and_hides_the_field_of_a_broken_rule(badges: TestApp) -> None:
    await made(badges, "a", pin="secret")
    file, options = f"label,weight,deputyId\r\na,6,\r\nb,1,{NOTHING}\r\n", {"mode": "upsert", "key": "label"}
    answer = await send(badges, file, "writer", json.dumps(options), path="/api/badges/import")
    assert answer.json()["data"]["errors"] == [
        {"row": 2, "message": UnprocessableEntity.sentence, "details": []},
        {
            "row": 3,
            "message": f"deputyId: {NO_SUCH_ROW['message']}",
            "details": [{"field": "deputyId", **NO_SUCH_ROW}],
        },
    ]
