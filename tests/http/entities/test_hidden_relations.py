"""Relations by a reference that ``guarded`` closes: for who may not read it they do not exist, on both of its sides."""

from collections.abc import AsyncIterator
from typing import Annotated, Any
from uuid import UUID

import pytest
import pytest_asyncio
from msgspec import Struct

from domain.entities.markers import entity, guarded, many, ref, unique
from tests.http.app import Json, TestApp, open_test_app
from tests.http.conftest import seed
from tests.http.entities.test_transfers import send

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


ALL = [f"{action}:{plural}" for plural in ("clerks", "jobs") for action in ("create", "read", "update", "delete")]
HIDDEN = ["boss", "standsIn", "reports", "reportsHasMore", "jobs", "jobsHasMore"]


@pytest_asyncio.fixture
async def clerks() -> AsyncIterator[TestApp]:
    """``guest`` reads neither bosses nor deputies; ``writer`` writes deputies and reads none; ``acme`` reads all."""
    opened = await open_test_app(entities=[Clerk, Job])
    await seed(opened)
    for name, more in (("guest", []), ("writer", ["write:deputies"])):
        await opened.make_role("acme", name, [*ALL, *more])
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
