"""An application with tasks that members own by every kind of rule, and members of its teams."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from uuid import UUID

import httpx
from litestar.types import ControllerRouterHandler
from msgspec import Struct

from adapters.http.app import HttpSettings
from adapters.system import Uuid7Ids
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.markers import entity, links, many, mine, ref, through, unique
from domain.entities.query.query import Operator
from domain.entities.rules import OtherRows, where
from domain.errors import FieldError
from entrypoints.assembly.adapters import memory_adapters
from entrypoints.assembly.use_cases import assemble
from entrypoints.settings.settings import read_settings
from entrypoints.testing.app import prepare_memory
from tests.http.app import ADMIN, SETTINGS, Json, TestApp, client_of


@entity("teams", has_many={"members": many("team-members", by="team_id"), "tasks": many("tasks", by="team_id")})
class Team(Struct, rename="camel", kw_only=True):
    name: str


@entity("team-members", own=[mine("user_id")])
class TeamMember(Struct, rename="camel", kw_only=True):
    team_id: Annotated[UUID, ref("teams", on_delete="cascade")]
    user_id: UUID


@entity(
    "tasks",
    own=[mine("created_by"), mine("assignee_id"), through("team", "members", "user_id")],
    has_many={"notes": many("task-notes", by="task_id")},
    search=["title"],
    unique=[unique("title")],
    sort="title",
    history=True,
    shared=True,
)
class Task(Struct, rename="camel", kw_only=True):
    title: str
    assignee_id: UUID | None = None
    team_id: Annotated[UUID | None, ref("teams", on_delete="clear")] = None


@entity("task-notes", own=[mine("author_id")], unique=[unique("text")], sort="text", shared=True)
class TaskNote(Struct, rename="camel", kw_only=True):
    """No history and no rule on creators: single statements write these rows."""

    text: str
    author_id: UUID | None = None
    task_id: Annotated[UUID | None, ref("tasks", on_delete="cascade")] = None


@entity("bookings", own=[mine("created_by")])
class Booking(Struct, rename="camel", kw_only=True):
    """A slot has room for two bookings, of any users."""

    slot: int
    task_id: Annotated[UUID | None, ref("tasks", on_delete="restrict")] = None

    async def check_stored(self, _: "Booking | None", others: OtherRows) -> AsyncIterator[FieldError]:
        if await others.count(Booking, where("slot", Operator.EQ, self.slot)) > 2:
            yield FieldError("slot", "is full")


@entity("task-reports")
class TaskReport(Struct, rename="camel", kw_only=True):
    is_closed: bool
    task_id: Annotated[UUID | None, ref("tasks", on_delete="clear")] = None

    def check(self, before: "TaskReport | None") -> Iterator[FieldError]:
        if before is not None and before.is_closed:
            yield FieldError("isClosed", "does not allow changes")


@entity("boards", own=[mine("created_by")])
class Board(Struct, rename="camel", kw_only=True):
    name: str = "Board"
    task_ids: Annotated[list[UUID], links("tasks", limit=10, on_delete="drop")] = []


ENTITIES = (Team, TeamMember, Task, TaskNote, Booking, TaskReport, Board)
OWNED = ("tasks", "task-notes", "bookings")
READ = ["read:teams", "read-own:team-members", *(f"read-own:{plural}" for plural in OWNED)]
WRITE = [f"{action}:{plural}" for plural in OWNED for action in ("create", "update-own", "delete-own")]


@dataclass
class Tasks:
    """``ann`` and ``bob`` are limited to own rows, ``root in acme`` is not. ``rows`` are ids by name."""

    app: TestApp
    tenant_id: str = ""
    users: dict[str, str] = field(default_factory=dict)
    rows: dict[str, str] = field(default_factory=dict)

    async def call(self, method: str, path: str, whom: str = "root in acme", **more: Any) -> httpx.Response:
        return await self.app.call(method, f"/api/{path}", as_whom=whom, **more)

    async def make(self, plural: str, name: str, whom: str = "root in acme", /, **values: object) -> str:
        answer = await self.call("POST", plural, whom, json=values)
        assert answer.status_code == 201, answer.text
        self.rows[name] = answer.json()["data"]["id"]
        return self.rows[name]

    async def add_user(self, name: str, permissions: list[str]) -> None:
        await self.app.make_role("acme", f"Role of {name}", permissions)
        self.users[name] = await self.app.make_user("acme", f"{name}@acme.example", [f"Role of {name}"])
        await self.app.login(name, f"{name}@acme.example")

    async def titles(self, query: str = "", whom: str = "ann") -> list[str]:
        answer = await self.call("GET", f"tasks{query}", whom)
        assert answer.status_code == 200, answer.text
        return [row["title"] for row in answer.json()["data"]["items"]]


async def open_tasks(database: WholeDatabase, registry: Registry, *routes: ControllerRouterHandler) -> Tasks:
    settings = read_settings({**SETTINGS, "TENANTRY_RATE_LIMITS": "count"})
    adapters = replace(memory_adapters(settings, registry), database=database, ids=Uuid7Ids())
    services = assemble(adapters, settings)
    await prepare_memory(services)
    tasks = Tasks(TestApp(client_of(services, HttpSettings(routes=routes)), services, adapters))
    await tasks.app.login("root", ADMIN)
    tasks.tenant_id = await tasks.app.make_tenant("acme")
    for name in ("ann", "bob"):
        await tasks.add_user(name, [*READ, *WRITE])
    await tasks.make("teams", "red", name="Red")
    await tasks.make("teams", "blue", name="Blue")
    await tasks.make("team-members", "ann in red", teamId=tasks.rows["red"], userId=tasks.users["ann"])
    await tasks.make("team-members", "bob in blue", teamId=tasks.rows["blue"], userId=tasks.users["bob"])
    await tasks.make("tasks", "created", "ann", title="created by ann")
    await tasks.make("tasks", "assigned", title="assigned to ann", assigneeId=tasks.users["ann"])
    await tasks.make("tasks", "of team", title="of the red team", teamId=tasks.rows["red"])
    await tasks.make("tasks", "of bob", "bob", title="created by bob")
    await tasks.make("tasks", "of blue", title="of the blue team", teamId=tasks.rows["blue"])
    await tasks.make("tasks", "of nobody", title="unassigned")
    await tasks.make("tasks", "deleted", "ann", title="deleted by ann")
    assert (await tasks.call("DELETE", f"tasks/{tasks.rows['deleted']}")).status_code == 204
    return tasks


def told(answer: httpx.Response) -> tuple[int, Json]:
    """Status and body, without the request's id and time."""
    body: Json = answer.json()
    error = {name: value for name, value in body.get("error", {}).items() if name != "traceId"}
    return answer.status_code, {"data": body.get("data"), "error": error}
