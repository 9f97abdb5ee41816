"""A project's own routes see all rows of the tenant, unless they opt in to limits."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio
from litestar import Request, get, patch
from litestar.di import NamedDependency
from litestar.params import FromPath

from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from tenantry import ORDINARY, TENANT_TOKEN, Rows, TenantDatabase, rules
from tests.http.entities.ownership.tasks import Task, Tasks, open_tasks

WHOLE = rules(policy=TENANT_TOKEN, limit=ORDINARY)
OWN = rules(policy=TENANT_TOKEN, limit=ORDINARY, own=True)
TasksOf = NamedDependency[Rows[Task]]


def one_key(request: Request[Any, Any, Any]) -> str:
    return request.url.path


async def titles_of(tasks: Rows[Task]) -> list[str]:
    return [row.value.title for row in (await tasks.page(sort=["title"])).items]


@get("/whole/tasks", opt=WHOLE)
async def whole(tasks: TasksOf) -> list[str]:
    return await titles_of(tasks)


@get("/own/tasks", opt=OWN)
async def own(tasks: TasksOf) -> list[str]:
    return await titles_of(tasks)


@get("/own/stored", opt=OWN, cache=60, cache_key_builder=one_key)
async def stored(tasks: TasksOf) -> list[str]:
    return await titles_of(tasks)


@get("/own/read", opt=OWN)
async def read(database: NamedDependency[TenantDatabase]) -> list[str]:
    async with database.read_only() as tx:
        return await titles_of(tx.rows(Task))


@patch("/own/tasks/{id:str}", opt=OWN)
async def rename(id: FromPath[UUID], database: NamedDependency[TenantDatabase]) -> str:  # noqa: A002  # the path's name
    async with database.transaction() as tx:
        row = await tx.rows(Task).get(id)
        return (await tx.rows(Task).update(id, {"title": f"{row.value.title} again"})).value.title


@pytest_asyncio.fixture
async def routes(tasks_database: WholeDatabase, tasks_registry: Registry) -> AsyncIterator[Tasks]:
    opened = await open_tasks(tasks_database, tasks_registry, whole, own, stored, read, rename)
    yield opened
    await opened.app.client.aclose()


OF_ANN = ["assigned to ann", "created by ann", "of the red team"]


@pytest.mark.promise("entities, own rows: A project's route sees all rows, and own=True limits it to own rows")
async def test_a_route_sees_all_rows_unless_it_opts_in(routes: Tasks) -> None:
    async def ask(path: str, whom: str) -> list[str]:
        titles: list[str] = (await routes.app.call("GET", path, as_whom=whom)).json()
        return titles

    assert len(await ask("/whole/tasks", "ann")) == 6
    for path in ("/own/tasks", "/own/stored", "/own/read"):
        assert await ask(path, "ann") == OF_ANN
        assert await ask(path, "bob") == ["created by bob", "of the blue team"]
        assert len(await ask(path, "root in acme")) == 6


async def test_a_transaction_that_opts_in_writes_only_own_rows(routes: Tasks) -> None:
    async def again(name: str) -> tuple[int, str]:
        answer = await routes.app.call("PATCH", f"/own/tasks/{routes.rows[name]}", as_whom="ann")
        return answer.status_code, answer.text

    assert await again("created") == (200, "created by ann again")
    assert (await again("of bob"))[0] == 404
    await routes.add_user("editor", ["read:tasks", "update-own:tasks"])
    refused = await routes.app.call("PATCH", f"/own/tasks/{routes.rows['of bob']}", as_whom="editor")
    assert refused.status_code == 403
