"""Rows that some tenants share: applications are seen by the tenants that may use them, and by super-admins."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl
from uuid import UUID

import msgspec
import pytest

from application.ports.entities.records import Act, NewRow, RowPage
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import WHOLE, Query
from domain.entities.query.read_query import read_query
from domain.entities.sheets import Form
from domain.scope import EveryTenant, OneTenant, Scope
from tests.builders import NOW, new_id

HERE, THERE = new_id(), new_id()
SHARED_WITH: Mapping[str, list[UUID] | None] = {
    "all": None,
    "here": [HERE],
    "there": [THERE],
    "both": [THERE, HERE],
    "none": [],
}
SEEN: list[tuple[Scope, list[str]]] = [
    (OneTenant(HERE), ["all", "both", "here"]),
    (OneTenant(THERE), ["all", "both", "there"]),
    (OneTenant(new_id()), ["all"]),
    (OneTenant(HERE, sees_all=True), sorted(SHARED_WITH)),
    (EveryTenant(), sorted(SHARED_WITH)),
]
scopes = pytest.mark.parametrize(("scope", "seen"), SEEN)


class Applications:
    def __init__(self, database: WholeDatabase, registry: Registry) -> None:
        self.database, self.registry, self.ids = database, registry, dict[str, UUID]()

    @property
    def model(self) -> EntityModel:
        return self.registry["applications"]

    async def add(self) -> None:
        common = {"is_active": True, "required_permission": None, "redirect_urls": None}
        self.ids = {name: new_id() for name in SHARED_WITH}
        rows = [
            NewRow(self.ids[name], {**common, "app_id": name, "name": f"App {name}", "allowed_tenant_ids": tenants})
            for name, tenants in SHARED_WITH.items()
        ]
        async with self.database.transaction(EveryTenant()) as tx:
            await tx.records.add(self.model, rows, Act(by=None, at=NOW))

    def query(self, asked: str) -> Query:
        return read_query(self.model, self.registry, frozenset(), parse_qsl(asked))

    async def page(self, scope: Scope, query: Query) -> RowPage:
        async with self.database.read_only(scope) as read:
            return await read.records.page(self.model, query)

    async def export(self, scope: Scope, form: Form) -> bytes:
        async with self.database.read_only(scope) as read:
            return b"".join(
                [piece async for piece in read.transfers.pieces(self.model, self.query("sort=appId"), form)]
            )


@pytest.fixture
async def applications(database: WholeDatabase, registry: Registry) -> Applications:
    made = Applications(database, registry)
    await made.add()
    return made


def names(page: RowPage) -> list[str]:
    rows: list[dict[str, Any]] = msgspec.json.decode(page.items)
    return [row["appId"] for row in rows]


@scopes
@pytest.mark.parametrize("asked", ["sort=appId", "sort=appId&search=app", "sort=appId&name.startsWith=App"])
async def test_a_list_has_the_applications_that_a_tenant_may_use(
    applications: Applications, scope: Scope, seen: list[str], asked: str
) -> None:
    page = await applications.page(scope, applications.query(asked))
    assert (names(page), page.total) == (seen, len(seen))
    cut = await applications.page(scope, applications.query(f"{asked}&pageSize=1"))
    assert (names(cut), cut.total) == (seen[:1], len(seen))
    estimated = await applications.page(scope, applications.query(f"{asked}&pageSize=1&count=estimated"))
    assert estimated.total == len(seen)


@scopes
async def test_pages_by_cursor_pass_over_the_applications_of_others(
    applications: Applications, scope: Scope, seen: list[str]
) -> None:
    query, found = applications.query("sort=appId&pageSize=1"), list[str]()
    for _ in SHARED_WITH:
        page = await applications.page(scope, query)
        found += names(page)
        if page.last is None:
            break
        query = msgspec.structs.replace(query, cursor=page.last)
    assert found == seen


@scopes
async def test_only_a_visible_application_is_read(applications: Applications, scope: Scope, seen: list[str]) -> None:
    async with applications.database.read_only(scope) as read:
        found = {
            name: await read.records.get(applications.model, row_id, WHOLE) for name, row_id in applications.ids.items()
        }
    assert sorted(name for name, row in found.items() if row is not None) == seen


@scopes
@pytest.mark.parametrize("form", ["csv", "json"])
async def test_an_export_has_the_visible_applications(
    applications: Applications, scope: Scope, seen: list[str], form: Form
) -> None:
    exported = (await applications.export(scope, form)).decode()
    assert [name for name in sorted(SHARED_WITH) if f"App {name}" in exported] == seen
    async with applications.database.read_only(scope) as read:
        assert await read.transfers.count(applications.model, applications.query(""), 100) == len(seen)
