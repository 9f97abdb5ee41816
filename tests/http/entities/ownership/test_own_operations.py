"""Operations and upserts of a caller who is limited to own rows."""

import asyncio
from typing import Any
from uuid import UUID

import httpx
import pytest

from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, Change
from domain.entities.declaration import Registry
from domain.scope import OneTenant
from tests.builders import NOW
from tests.contracts.entities.links.test_links_at_once import until_one_waits
from tests.http.app import Json
from tests.http.entities.ownership.tasks import Tasks, open_tasks
from tests.http.entities.ownership.test_own_writes import EDITOR, stored


async def apply(tasks: Tasks, whom: str, *operations: Json) -> httpx.Response:
    return await tasks.call("POST", "operations", whom, json={"operations": list(operations)})


async def upsert(tasks: Tasks, whom: str, *items: Json) -> httpx.Response:
    return await tasks.call("POST", "tasks/batch/upsert", whom, json={"key": "title", "items": list(items)})


def fields(answer: httpx.Response) -> tuple[int, list[str]]:
    return answer.status_code, [detail["field"] for detail in answer.json()["error"].get("details", [])]


def on(op: str, row_id: str, **more: Any) -> Json:
    values = {"values": {"title": "mine now"}} if op == "update" else {}
    return {"op": op, "entity": "tasks", "id": row_id, **values, **more}


async def test_an_operation_on_a_visible_row_that_is_not_own_is_refused(tasks: Tasks) -> None:
    await tasks.add_user("editor", EDITOR)
    before = await stored(tasks)
    for op in ("update", "delete"):
        answer = await apply(tasks, "editor", on(op, tasks.rows["of bob"], version=9), on(op, tasks.rows["of blue"]))
        status, names = fields(answer)
        assert (status, [name.partition(".")[0] for name in names]) == (403, ["operations[0]", "operations[1]"])
    assert await stored(tasks) == before


async def test_operations_on_own_rows_name_each_other(tasks: Tasks) -> None:
    operations = [
        {"op": "create", "entity": "tasks", "as": "t", "values": {"title": "new", "createdBy": tasks.users["bob"]}},
        {"op": "create", "entity": "task-notes", "values": {"text": "n", "taskId": {"$id": "t"}}},
        on("update", tasks.rows["created"]),
        on("delete", tasks.rows["assigned"]),
        on("restore", tasks.rows["assigned"]),
    ]
    operations[1]["values"]["authorId"] = tasks.users["ann"]
    results = (await apply(tasks, "ann", *operations)).json()["data"]["results"]
    assert (results[0]["createdBy"], results[1]["taskId"]) == (tasks.users["ann"], results[0]["id"])
    operations[1]["values"] |= {"authorId": tasks.users["bob"], "text": "m"}
    operations[0]["values"]["title"] = "other"
    assert fields(await apply(tasks, "ann", *operations[:2])) == (403, ["operations[1].authorId"])
    given_away = on("update", tasks.rows["assigned"]) | {"values": {"assigneeId": tasks.users["bob"]}}
    assert fields(await apply(tasks, "ann", given_away)) == (403, ["operations[0].assigneeId"])


@pytest.mark.promise("POST /api/{entities}/batch/upsert: a key of an invisible row is a 409 on its item")
async def test_an_upsert_does_not_change_rows_of_other_users(tasks: Tasks) -> None:
    before = await stored(tasks)
    answer = await upsert(tasks, "ann", {"title": "new"}, {"title": "created by bob"}, {"title": "created by ann"})
    assert fields(answer) == (409, ["items[1].title"])
    assert await stored(tasks) == before
    done = (await upsert(tasks, "ann", {"title": "new"}, {"title": "created by ann"})).json()["data"]
    assert (done["created"], done["updated"]) == (1, 1)
    await tasks.add_user("editor", [*EDITOR, "create:tasks"])
    status, names = fields(await upsert(tasks, "editor", {"title": "created by bob"}))
    assert (status, names[0].partition(".")[0]) == (403, "items[0]")


async def test_an_upsert_of_a_row_that_becomes_invisible_meanwhile_is_a_conflict(
    tasks_postgres: PostgresDatabase, tasks_registry: Registry
) -> None:
    """The search finds the row, and the lock waits for a request that gives the row away."""
    tasks, model = await open_tasks(tasks_postgres, tasks_registry), tasks_registry["tasks"]
    async with tasks_postgres.transaction(OneTenant(UUID(tasks.tenant_id))) as tx:
        given = Change(UUID(tasks.rows["assigned"]), {"assignee_id": None}, None)
        await tx.records.change(model, [given], Act(by=None, at=NOW))
        upserting = asyncio.ensure_future(upsert(tasks, "ann", {"title": "assigned to ann"}))
        await until_one_waits(tx)
    assert fields(await upserting) == (409, ["items[0].title"])
    await tasks.app.client.aclose()
