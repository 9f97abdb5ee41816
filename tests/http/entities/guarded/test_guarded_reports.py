"""Reports of imports and deletions: what a rule says of fields that the caller may not read is left out.

Relations by a reference that ``guarded`` closes: for who may not read it they do not exist, on both of its sides.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any
from uuid import UUID

import msgspec
import pytest
import pytest_asyncio
from msgspec import Struct

from domain.entities.markers import entity, guarded, many, ref, unique
from domain.errors import FieldError, UnprocessableEntity
from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.entities.files.test_transfers import send


@entity("rooms", unique=[unique("number")])
class Room(Struct, rename="camel", kw_only=True):
    number: str


@entity("parcels", unique=[unique("label"), unique("secret")])
class Parcel(Struct, rename="camel", kw_only=True):
    label: str
    weight: int = 0
    secret: Annotated[str | None, guarded(read="read:secrets")] = None
    room_id: Annotated[UUID | None, ref("rooms", on_delete="clear"), guarded(read="read:places")] = None
    words: Annotated[list[str], guarded(read="read:words")] = msgspec.field(default_factory=list)

    def check(self, before: "Parcel | None") -> Iterator[FieldError]:
        if before is not None and self.weight > 10:
            yield FieldError("weight", "is too heavy")
        if before is not None and self.weight > 5:
            yield FieldError("secret", f"{self.secret} takes at most 5")
        if before is not None and before.room_id is not None and self.room_id is None:
            yield FieldError("roomId", "stays in its room")
        if self.weight == -1:
            yield FieldError("words[0]", "does not fit the weight")
            yield FieldError("words[0].length", "does not fit the weight")


ALL = [f"{action}:{plural}" for plural in ("parcels", "rooms") for action in ("create", "read", "update", "delete")]


@pytest_asyncio.fixture
async def parcels() -> AsyncIterator[TestApp]:
    """``clerk`` reads neither secrets nor places; ``porter`` does not read parcels at all; ``acme`` reads all."""
    opened = await open_test_app(entities=[Room, Parcel])
    await seed(opened)
    for name, rights in (("clerk", ALL), ("porter", ["delete:rooms"])):
        await opened.make_role("acme", name, rights)
        await opened.make_user("acme", f"{name}@acme.example", [name])
        await opened.login(name, f"{name}@acme.example")
    yield opened
    await opened.client.aclose()


async def upsert(app: TestApp, whom: str, lines: str, options: str = '{"mode":"upsert","key":"label"}') -> Json:
    form = {"file": ("parcels.csv", f"label,weight\r\n{lines}"), "options": (None, options)}
    answer: Json = (await app.call("POST", "/api/parcels/import", as_whom=whom, files=form)).json()
    return answer


async def parcel(app: TestApp, label: str, **values: object) -> Json:
    made = await app.call("POST", "/api/parcels", as_whom="acme", json={"label": label, **values})
    data: Json = made.json()["data"]
    return data


async def test_an_upsert_report_omits_fields_that_the_caller_may_not_read(parcels: TestApp) -> None:
    for label in ("a", "b"):
        await parcel(parcels, label, secret=f"code {label}")
    told = (await upsert(parcels, "acme", "a,11\r\nb,6\r\n"))["data"]["errors"]
    assert [[wrong["field"] for wrong in error["details"]] for error in told] == [["weight", "secret"], ["secret"]]
    data = (await upsert(parcels, "clerk", "a,11\r\nb,6\r\n"))["data"]
    assert data["errors"] == [
        {
            "row": 2,
            "message": "weight: is too heavy",
            "details": [{"field": "weight", "message": "is too heavy"}],
        },
        {"row": 3, "message": UnprocessableEntity.sentence, "details": []},
    ]
    atomic = '{"mode":"upsert","key":"label","atomic":true}'
    assert "code" not in str((await upsert(parcels, "clerk", "a,11\r\nb,6\r\n", atomic))["error"]["details"])


async def test_a_unique_field_that_the_caller_may_not_read_is_not_an_upsert_key(parcels: TestApp) -> None:
    for options in ('{"mode":"upsert"}', '{"mode":"upsert","key":"secret"}', '{"mode":"upsert","key":"nothing"}'):
        told = await upsert(parcels, "clerk", "a,1\r\n", options)
        assert "secret" not in str(told).replace('"key":"secret"', "")
    assert (await upsert(parcels, "clerk", "a,1\r\n", '{"mode":"upsert"}'))["data"]["imported"] == 1


@pytest.mark.parametrize("whom", ["clerk", "porter"])
async def test_a_deletion_that_a_cleared_row_refuses_names_no_field_that_the_caller_may_not_read(
    parcels: TestApp, whom: str
) -> None:
    room = (await parcels.call("POST", "/api/rooms", as_whom="acme", json={"number": "1"})).json()["data"]
    await parcel(parcels, "a", roomId=room["id"])
    path, batch = f"/api/rooms/{room['id']}", {"ids": [room["id"]]}
    named = (await parcels.call("DELETE", path, as_whom="acme")).json()["error"]
    assert [wrong["field"] for wrong in named["details"]] == ["parcels.roomId"]
    for answer in (
        await parcels.call("DELETE", path, as_whom=whom),
        await parcels.call("DELETE", "/api/rooms/batch", as_whom=whom, json=batch),
    ):
        assert (answer.status_code, answer.json()["error"].get("details", [])) == (422, [])
        assert answer.json()["error"]["message"] == UnprocessableEntity.sentence


@pytest.mark.parametrize("options", ['{"mode":"upsert","key":"label"}', "{}", '{"atomic":true}'])
async def test_a_report_names_no_item_of_a_list_that_the_caller_may_not_read(parcels: TestApp, options: str) -> None:
    assert "words[0]" in str(await upsert(parcels, "acme", "a,-1\r\n", options))
    assert "words" not in str(await upsert(parcels, "clerk", "a,-1\r\n", options))
    await parcel(parcels, "a")
    assert "words" not in str(await upsert(parcels, "clerk", "a,-1\r\n", options))


async def test_a_body_and_a_batch_name_no_item_of_a_list_that_the_caller_may_not_read(parcels: TestApp) -> None:
    stored = await parcel(parcels, "b")
    wrong: Json = {"label": "a", "weight": -1}
    for whom, is_told in (("acme", True), ("clerk", False)):
        for method, path, body in (
            ("POST", "/api/parcels", wrong),
            ("PUT", f"/api/parcels/{stored['id']}", {"weight": -1}),
            ("POST", "/api/parcels/batch", {"items": [wrong, {"label": "c"}]}),
            ("PUT", "/api/parcels/batch", {"items": [{"id": stored["id"], "weight": -1}]}),
        ):
            answer = await parcels.call(method, path, as_whom=whom, json=body)
            assert (answer.status_code, "words" in answer.text) == (422, is_told), answer.text


@pytest.mark.parametrize(("whom", "field"), [("clerk", None), ("acme", "secret")])
async def test_a_dry_run_names_no_field_that_the_caller_may_not_read(
    parcels: TestApp, whom: str, field: str | None
) -> None:
    form = {"file": ("parcels.csv", "label,Secret\r\nA,x\r\n"), "options": (None, '{"dryRun": true}')}
    answer = await parcels.call("POST", "/api/parcels/import", as_whom=whom, files=form)
    data = answer.json()["data"]
    assert data["header"]["columns"][1] == {"name": "Secret", "field": field, "samples": ["x"]}
    assert [error["row"] for error in data["errors"]] == ([1] if field is None else [])


BOSS = guarded(read="read:bosses")
DEPUTY = guarded(read="read:deputies", write="write:deputies")


@entity(
    "clerks",
    unique=[unique("name")],
    has_many={"reports": many("clerks", by="boss_id"), "jobs": many("jobs", by="clerk_id")},
)
class Clerk(Struct, rename="camel", kw_only=True):
    name: str
    boss_id: Annotated[UUID | None, ref("clerks"), BOSS] = None
    deputy_id: Annotated[UUID | None, ref("clerks", relation="standsIn"), DEPUTY] = None
    friend_id: Annotated[UUID | None, ref("clerks")] = None


@entity("jobs")
class Job(Struct, rename="camel", kw_only=True):
    title: str
    clerk_id: Annotated[UUID | None, ref("clerks"), BOSS] = None


ALL_OF_HIDDEN_RELATIONS = [
    f"{action}:{plural}" for plural in ("clerks", "jobs") for action in ("create", "read", "update", "delete")
]
HIDDEN = ["boss", "standsIn", "reports", "reportsHasMore", "jobs", "jobsHasMore"]


@pytest_asyncio.fixture
async def clerks() -> AsyncIterator[TestApp]:
    """``guest`` reads neither bosses nor deputies; ``writer`` writes deputies and reads none; ``acme`` reads all."""
    opened = await open_test_app(entities=[Clerk, Job])
    await seed(opened)
    for name, more in (("guest", []), ("writer", ["write:deputies"])):
        await opened.make_role("acme", name, [*ALL_OF_HIDDEN_RELATIONS, *more])
        await opened.make_user("acme", f"{name}@acme.example", [name])
        await opened.login(name, f"{name}@acme.example")
    yield opened
    await opened.client.aclose()


def refused(body: Json) -> list[tuple[str, str]]:
    return [(wrong["field"], wrong["message"]) for wrong in body["error"]["details"]]


@pytest.mark.parametrize(("whom", "unknown"), [("guest", HIDDEN), ("writer", HIDDEN), ("acme", [])])
async def test_a_hidden_relation_is_as_unknown_as_a_misspelt_name(
    clerks: TestApp, whom: str, unknown: list[str]
) -> None:
    made = await clerks.call("POST", "/api/clerks", as_whom="acme", json={"name": "Ada"})
    body: dict[str, Any] = {"name": "Bob", "friend": {}, **dict.fromkeys([*HIDDEN, "friendHasMore"])}
    changed = {"items": [{"id": made.json()["data"]["id"], **body}]}
    for method, path, sent, prefix in (
        ("POST", "/api/clerks", body, ""),
        ("PUT", made.headers["Location"], body, ""),
        ("POST", "/api/clerks/batch", {"items": [body]}, "items[0]."),
        ("PUT", "/api/clerks/batch", changed, "items[0]."),
    ):
        answer = await clerks.call(method, path, as_whom=whom, json=sent)
        assert answer.status_code == 400, answer.text
        told = refused(answer.json())
        assert {name for name, _ in told} == {f"{prefix}{name}" for name in (*unknown, "friendHasMore")}
        assert all(message.startswith("is not known") for _, message in told)


async def test_a_row_that_was_read_with_related_rows_is_sent_back(clerks: TestApp) -> None:
    made = await clerks.call("POST", "/api/clerks", as_whom="acme", json={"name": "Ada"})
    path, includes = made.headers["Location"], {"acme": "friend,boss,standsIn,reports,jobs", "guest": "friend"}
    for whom, include in includes.items():
        row = (await clerks.call("GET", f"{path}?include={include}", as_whom=whom)).json()["data"]
        assert (await clerks.call("PUT", path, as_whom=whom, json=row)).status_code == 200


COLUMNS = ["boss.name", "standsIn.id", "friend.bossId", "friend.boss.name", "friend.standsIn.name"]


@pytest.mark.parametrize(("whom", "unknown"), [("guest", COLUMNS), ("writer", COLUMNS), ("acme", [])])
async def test_a_column_of_a_hidden_relation_is_unknown(clerks: TestApp, whom: str, unknown: list[str]) -> None:
    file = ",".join(["name", "friend.name", "friend.nmae", *COLUMNS]) + "\r\n"
    answer = await send(clerks, file, whom, path="/api/clerks/import")
    assert answer.status_code == 400
    told = refused(answer.json())
    assert [name for name, _ in told] == ["friend.nmae", *unknown]
    assert all(message.startswith("is not known") for _, message in told)
