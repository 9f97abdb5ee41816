"""Every route of every entity with ownership rules, for rows that are own by each rule, another user's, and deleted."""

from collections.abc import AsyncIterator
from itertools import count
from typing import Any
from uuid import UUID

import httpx
import pytest
import pytest_asyncio

from adapters.system import Uuid7Ids
from application.ports.entities.records import Act, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import EntityModel, Registry
from domain.entities.markers import Mine, OwnRule
from domain.scope import OneTenant
from tests.http.app import Json, registry_of
from tests.http.entities.isolation.isolation import ABSENT, NOW, Ground, Whom
from tests.http.entities.ownership.tasks import ENTITIES, OWNED, Tasks, open_tasks, told
from tests.http.served import Served

ANN = Whom("a member limited to own rows", "member")
ACTIONS = ("create", "read-own", "update-own", "delete-own", "purge", "share")
SLOTS = count(1_000)
"""Slots that no other booking has."""


@pytest_asyncio.fixture
async def place(tasks_database: WholeDatabase, tasks_registry: Registry) -> AsyncIterator[tuple[Tasks, Ground]]:
    tasks = await open_tasks(tasks_database, tasks_registry)
    await tasks.add_user("member", ["read:teams", *(f"{action}:{plural}" for plural in OWNED for action in ACTIONS)])
    tenants = (await tasks.call("GET", "tenants")).json()["data"]["items"]
    tenant_id = next(tenant["id"] for tenant in tenants if tenant["identifier"] == "acme")
    yield tasks, Ground(tasks.app, tasks_database, tasks_registry, UUID(tenant_id))
    await tasks.app.client.aclose()


async def add(ground: Ground, model: EntityModel, user: str | None, rule: OwnRule | None) -> str:
    """A row that is the user's own by the rule; without a rule it is nobody's."""
    values = {field.name: await ground.value(field) for field in model.declared}
    owner, by = None if user is None else UUID(user), None
    values |= {"slot": next(SLOTS)} if "slot" in values else {}
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
    """Status and content, without the request's id and time."""
    if not answer.content or not answer.headers["content-type"].startswith("application/json"):
        return answer.status_code, answer.text
    return told(answer) if isinstance(answer.json(), dict) else (answer.status_code, answer.text)


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
    other, gone = [await add(ground, model, tasks.users["bob"], model.declaration.own[0]) for _ in range(2)]
    await delete(ground, model, gone)
    stored = [await ground.seen(model, row_id) for row_id in (other, gone)]
    for endpoint in ground.endpoints(plural):
        if names_a_row(endpoint):
            absent = shown(await ground.ask(endpoint, ANN, ABSENT, body))
            assert absent[0] >= 400, endpoint.operation
            for row_id in (other, gone):
                assert shown(await ground.ask(endpoint, ANN, row_id, body)) == absent, endpoint.operation
        elif endpoint in lists:
            # the same rows, counts and further pages as before
            assert shown(await ground.ask(endpoint, ANN, ABSENT, body)) == before[endpoint.operation]
    assert [await ground.seen(model, row_id) for row_id in (other, gone)] == stored


RULES = [(plural, rule) for plural in OWNED for rule in registry_of(ENTITIES)[plural].declaration.own]


@pytest.mark.parametrize(("plural", "rule"), RULES, ids=str)
async def test_own_rows_are_served_on_every_route(place: tuple[Tasks, Ground], plural: str, rule: OwnRule) -> None:
    tasks, ground = place
    model, member = ground.registry[plural], tasks.users["member"]
    # rows under a row, such as shares, have tests of their own
    for endpoint in (each for each in ground.endpoints(plural) if each.path.count("{") < 2):
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
        if field.reference is not None:
            made.pop(field.wire, None)
        elif isinstance(field.type, type(UUID)) or Mine(field.name) in model.declaration.own:
            made[field.wire] = user
    return made
