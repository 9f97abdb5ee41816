"""Every route of every entity with ownership rules, for rows that are own by each rule, shared, another user's, and
deleted. It is made from the table: a new route or entity needs no test.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from typing import Any, cast
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from adapters.postgres.database import PostgresDatabase
from adapters.system import Uuid7Ids
from application.ports.entities.records import Act, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Mine, OwnRule
from domain.scope import OneTenant, Scope
from tests.adapters.postgres.identity.test_statements_of_a_login import Counted
from tests.http.app import Json, registry_of
from tests.http.entities.isolation.isolation import ABSENT, NOW, Ground, Whom
from tests.http.entities.ownership.tasks import ENTITIES, Tasks, open_tasks
from tests.http.served import Served, served_by

OF_REQUESTS = ("x-request-id", "date", "server-timing", "x-ratelimit-remaining", "x-ratelimit-reset", "ratelimit")
ANN = Whom("a member limited to own rows", "member")
ACTIONS = ("create", "read-own", "update-own", "delete-own", "purge", "share")
SLOTS = count(1_000)
"""Slots that no other booking has."""
MODELS = [model for model in registry_of(ENTITIES) if model.declaration.own]
OWNED = [model.plural for model in MODELS]
SHARED = [model.plural for model in MODELS if model.declaration.shared]
BEYOND_ROWS = [
    "GET /api/changes",
    "GET /api/changes/stream",
    "GET /api/entities",
    "GET /api/system",
    "GET /api/system/traffic",
    "POST /api/operations",
]
"""Routes that are not one entity's. The feed has a separate matrix, a test below has all operations, and the others
show no rows.
"""


@pytest_asyncio.fixture
async def place(tasks_database: WholeDatabase, tasks_registry: Registry) -> AsyncIterator[tuple[Tasks, Ground]]:
    async with opened(tasks_database, tasks_registry) as made:
        yield made


@asynccontextmanager
async def opened(database: WholeDatabase, registry: Registry) -> AsyncIterator[tuple[Tasks, Ground]]:
    tasks = await open_tasks(database, registry)
    await tasks.add_user("member", ["read:teams", *(f"{action}:{plural}" for plural in OWNED for action in ACTIONS)])
    far = await tasks.make("tasks", "far", "member", title="linked")
    yield tasks, Ground(tasks.app, database, registry, UUID(tasks.tenant_id), far)
    await tasks.app.client.aclose()


async def add(ground: Ground, model: EntityModel, user: str | None, rule: OwnRule | None) -> str:
    """A row that is the user's own by the rule; without a rule it is nobody's."""
    values = {field.name: await ground.value(field) for field in model.declared}
    owner, by = None if user is None else UUID(user), None
    values |= {"slot": next(SLOTS)} if "slot" in values else {}
    values |= {field.name: [UUID(ground.far)] for field in model.links}
    if isinstance(rule, Mine) and rule.field in values:
        values[rule.field] = owner
    elif isinstance(rule, Mine):
        by = owner
    elif rule is not None:
        first = model.relations[rule.to_one]
        second = ground.registry.target(first).relations[rule.to_many]
        target = values[first.by] = UUID(await ground.row(ground.registry[first.target]))
        far = ground.registry.target(second)
        held = {field.name: await ground.value(field) for field in far.declared}
        await store(ground, far, {**held, second.by: target, rule.field: owner}, None)
    return await store(ground, model, values, by)


async def store(ground: Ground, model: EntityModel, values: dict[str, object], by: UUID | None) -> str:
    row = NewRow(Uuid7Ids().new(), values)
    async with ground.database.transaction(OneTenant(ground.tenant_id)) as tx:
        await tx.records.add(model, [row], Act(by=by, at=NOW))
    return str(row.id)


async def delete(ground: Ground, model: EntityModel, row_id: str) -> None:
    async with ground.database.transaction(OneTenant(ground.tenant_id)) as tx:
        await tx.records.remove(model, [UUID(row_id)], Act(by=None, at=NOW), None)


def names_a_row(endpoint: Served) -> bool:
    return "{id}" in endpoint.path or "update-batch" in endpoint.operation or "delete-batch" in endpoint.operation


def shown(answer: httpx.Response) -> Any:
    """All bytes of the answer but the request's id, and its headers but those that count and measure requests."""
    request_id = answer.headers["x-request-id"]
    headers = {name: text for name, text in answer.headers.items() if name not in OF_REQUESTS}
    return answer.status_code, headers, answer.content.replace(request_id.encode(), b"")


async def test_the_matrix_has_every_route_of_the_entities(place: tuple[Tasks, Ground]) -> None:
    tasks, ground = place
    covered = {each.operation for model in ground.registry for each in ground.endpoints(model.plural)}
    of_rows = [each for each in served_by(tasks.app.services) if each.area == "B" and each.path.startswith("/api/")]
    others = sorted(f"{each.method} {each.path}" for each in of_rows if each.operation not in covered)
    # Deliveries have what their service account may read: see the matrix of the feed.
    others = [name for name in others if "/api/webhooks" not in name]
    assert others == BEYOND_ROWS
    names = {each.operation.partition(".")[2] for plural in OWNED for each in ground.endpoints(plural)}
    assert {
        "history",
        "summary",
        "shares",
        "share",
        "unshare",
        "restore",
        "import",
        "export",
        "upsert-batch",
    } <= names, names


@pytest.mark.promise("GET /api/{entities}/{id}: a row that is not own is answered like an absent row, byte for byte")
@pytest.mark.promise(
    "security, isolation: on every route of every entity with ownership rules, another user's row is answered like an "
    "absent row, also when deleted"
)
@pytest.mark.parametrize("plural", OWNED)
async def test_a_row_of_another_user_is_answered_like_an_absent_row(place: tuple[Tasks, Ground], plural: str) -> None:
    tasks, ground = place
    model, body = ground.registry[plural], {"slot": 7} if plural == "bookings" else {}
    lists = [each for each in ground.endpoints(plural) if each.method == "GET" and not names_a_row(each)]
    before = {each.operation: shown(await ground.ask(each, ANN, ABSENT, body)) for each in lists}
    other, gone = await rows_of_bob(tasks, ground, model)
    stored = [await ground.seen(model, row_id) for row_id in (other, gone)]
    for endpoint in ground.endpoints(plural):
        if names_a_row(endpoint):
            absent = shown(await ground.ask(endpoint, ANN, ABSENT, body))
            assert absent[0] == 404, endpoint.operation
            for row_id in (other, gone):
                assert shown(await ground.ask(endpoint, ANN, row_id, body)) == absent, endpoint.operation
        elif endpoint in lists:
            # the same rows, counts and further pages as before
            assert shown(await ground.ask(endpoint, ANN, ABSENT, body)) == before[endpoint.operation]
    assert [await ground.seen(model, row_id) for row_id in (other, gone)] == stored


async def rows_of_bob(tasks: Tasks, ground: Ground, model: EntityModel) -> tuple[str, str]:
    """One that lives and a deleted one."""
    other, gone = [await add(ground, model, tasks.users["bob"], model.declaration.own[0]) for _ in range(2)]
    await delete(ground, model, gone)
    return other, gone


@pytest.mark.promise("POST /api/operations: another user's row is answered like an absent row")
@pytest.mark.parametrize("plural", OWNED)
async def test_an_operation_on_a_row_of_another_user_is_answered_like_one_on_an_absent_row(
    place: tuple[Tasks, Ground], plural: str
) -> None:
    tasks, ground = place
    model = ground.registry[plural]
    own = await add(ground, model, tasks.users["member"], model.declaration.own[0])
    rows = (ABSENT, *await rows_of_bob(tasks, ground, model))
    stored = [await ground.seen(model, row_id) for row_id in (own, *rows)]
    for op in ("update", "delete", "restore"):
        operations: list[Json] = [{"op": op, "entity": plural, "id": row_id} for row_id in rows]
        operations = [each | ({"values": {}} if op == "update" else {}) for each in operations]
        first = {"op": "delete", "entity": plural, "id": own}
        bodies = [{"operations": [first, each]} for each in operations]
        absent, *others = [shown(await tasks.call("POST", "operations", "member", json=body)) for body in bodies]
        assert absent[0] == 404, op
        assert others == [absent, absent], op
    assert [await ground.seen(model, row_id) for row_id in (own, *rows)] == stored


@pytest.mark.parametrize("level", ["read", "update"])
@pytest.mark.parametrize("plural", SHARED)
async def test_a_shared_row_is_served_as_far_as_its_level_allows(
    place: tuple[Tasks, Ground], plural: str, level: str
) -> None:
    """A share of level read allows no change, and one of level update no deletion."""
    tasks, ground = place
    model = ground.registry[plural]
    for endpoint in filter(names_a_row, ground.endpoints(plural)):
        row_id = await add(ground, model, tasks.users["bob"], model.declaration.own[0])
        path = f"{plural}/{row_id}/shares/{tasks.users['member']}"
        assert (await tasks.call("PUT", path, json={"level": level})).status_code == 200
        stored = await ground.seen(model, row_id)
        answer = await ground.ask(endpoint, ANN, row_id, {})
        said = (endpoint.operation, answer.text)
        needed = level_needed(endpoint)
        if needed is None or (needed, level) == ("update", "read"):
            assert answer.status_code == 403, said
            assert await ground.seen(model, row_id) == stored
        elif "{user_id}" in endpoint.path:
            assert answer.status_code == (400 if endpoint.method == "PUT" else 404), said  # nobody has this id
        else:
            assert answer.status_code in (200, 204), said


def level_needed(endpoint: Served) -> str | None:
    """The level of a share for a route that names a row, None where no share is enough."""
    if "shares" in endpoint.path or "{target}" in endpoint.path:
        return "update"
    if endpoint.method == "DELETE" or endpoint.path.endswith(("/restore", "/delete")):
        return None
    return "read" if endpoint.method == "GET" else "update"


@pytest.mark.parametrize("plural", OWNED)
async def test_refusals_of_absent_and_invisible_rows_send_the_same_statements(
    tasks_postgres: PostgresDatabase, tasks_registry: Registry, plural: str
) -> None:
    """Else the time of the answer would tell whether the row exists."""
    database = Statements(tasks_postgres)
    async with opened(cast(WholeDatabase, database), tasks_registry) as (tasks, ground):
        model = ground.registry[plural]
        rows = (ABSENT, *await rows_of_bob(tasks, ground, model))
        for endpoint in filter(names_a_row, ground.endpoints(plural)):
            sent: list[list[str]] = []
            for row_id in (ABSENT, *rows):  # the first one finds no prepared statement
                database.sent.clear()
                assert (await ground.ask(endpoint, ANN, row_id, {})).status_code == 404
                sent.append(list(database.sent))
            assert sent[1], endpoint.operation
            assert sent[2:] == [sent[1], sent[1]], endpoint.operation


class Statements(Counted):
    """Whole statements."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    def read_transaction(self, scope: Scope) -> AbstractAsyncContextManager[Any]:
        return self._logged(self.database.read_transaction(scope))

    def _note(self, query: str) -> None:
        self.sent.append(query)


RULES = [(plural, rule) for plural in OWNED for rule in registry_of(ENTITIES)[plural].declaration.own]


@pytest.mark.parametrize(("plural", "rule"), RULES, ids=str)
async def test_own_rows_are_served_on_every_route(place: tuple[Tasks, Ground], plural: str, rule: OwnRule) -> None:
    tasks, ground = place
    model, member = ground.registry[plural], tasks.users["member"]
    # the tests of shares name users
    for endpoint in (each for each in ground.endpoints(plural) if "{user_id}" not in each.path):
        row_id = await add(ground, model, member, rule)
        body = await valid_body(ground, model, member)
        answer = await ground.ask(endpoint, ANN, row_id, body)
        assert answer.status_code in (200, 201, 204, 409), (endpoint.operation, answer.text)
        if endpoint.operation.endswith((".read", ".page", ".export")):
            assert row_id in answer.text, endpoint.operation
    deleted = await add(ground, model, member, rule)
    await delete(ground, model, deleted)
    path = f"/api/{plural}/{deleted}"
    assert (await tasks.app.call("GET", path, as_whom="member")).status_code == 404
    listed = await tasks.app.call("GET", f"/api/{plural}?includeDeleted=true&pageSize=100", as_whom="member")
    assert deleted in listed.text
    assert (await tasks.app.call("POST", f"{path}/restore", as_whom="member")).status_code in (200, 422)


async def valid_body(ground: Ground, model: EntityModel, user: str) -> Json:
    """A new row of the user, without references, which would be rows of others."""
    made = ground.schemas.example(model.create_form) or {}
    for field in model.declared:
        if field.reference is not None and field.required:
            made[field.wire] = await ground.row(ground.registry[field.reference.target])
        elif field.target is not None:
            made.pop(field.wire, None)
        elif isinstance(field.type, type(UUID)) or Mine(field.name) in model.declaration.own:
            made[field.wire] = user
    return made
