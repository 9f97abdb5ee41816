"""Applications: the users and tenants that may sign in to each."""

from collections.abc import Sequence
from uuid import UUID

import pytest

from application.identity.login.applications import RegisteredApplications
from application.ports.entities.records import Act, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import Forbidden
from domain.scope import EveryTenant
from tests.builders import NOW, new_id

HERE, THERE = new_id(), new_id()
ROWS: tuple[dict[str, object], ...] = (
    {"app_id": "open"},
    {"app_id": "closed", "is_active": False},
    {"app_id": "here", "allowed_tenant_ids": [HERE]},
    {"app_id": "nowhere", "allowed_tenant_ids": []},
    {"app_id": "sellers", "required_permission": "sell:products"},
    {"app_id": "shop", "redirect_urls": ["https://shop.example/in", "http://localhost:3000/?from=here"]},
)


COMMON: dict[str, object] = {
    "name": "An application",
    "is_active": True,
    "allowed_tenant_ids": None,
    "required_permission": None,
    "redirect_urls": None,
}


@pytest.fixture
async def registered(database: WholeDatabase, registry: Registry) -> RegisteredApplications:
    async with database.transaction(EveryTenant()) as tx:
        rows = [NewRow(new_id(), {**COMMON, **row}) for row in ROWS]
        await tx.records.add(registry["applications"], rows, Act(by=None, at=NOW))
    return RegisteredApplications(database, registration_required=False)


TAKEN: list[tuple[str | None, UUID | None, Sequence[str]]] = [
    (None, HERE, ()),
    ("unknown", HERE, ()),
    ("open", None, ()),
    ("open", HERE, ()),
    ("here", HERE, ()),
    ("here", None, ()),
    ("nowhere", None, ()),
    ("sellers", None, ()),
    ("sellers", HERE, ("sell:products",)),
    ("sellers", HERE, ("*",)),
]
REFUSED: list[tuple[str, UUID | None, Sequence[str]]] = [
    ("closed", None, ("*",)),
    ("closed", HERE, ("*",)),
    ("here", THERE, ("*",)),
    ("nowhere", HERE, ("*",)),
    ("sellers", HERE, ()),
    ("sellers", HERE, ("read:products",)),
]


async def test_an_application_accepts_the_users_it_is_open_to(registered: RegisteredApplications) -> None:
    for app_id, tenant_id, permissions in TAKEN:
        await registered.ensure_takes(app_id, tenant_id, permissions)
    for app_id, tenant_id, permissions in REFUSED:
        with pytest.raises(Forbidden):
            await registered.ensure_takes(app_id, tenant_id, permissions)


async def test_where_registration_is_required_an_unregistered_application_is_refused(
    registered: RegisteredApplications, database: WholeDatabase
) -> None:
    strict = RegisteredApplications(database, registration_required=True)
    await strict.ensure_takes(None, HERE, ())
    await strict.ensure_takes("open", HERE, ())
    for unknown in ("unknown", "OPEN", " open", ""):
        with pytest.raises(Forbidden):
            await strict.ensure_takes(unknown, HERE, ())


async def test_an_application_is_found_by_its_id_with_its_addresses_in_order(
    registered: RegisteredApplications, database: WholeDatabase
) -> None:
    async with database.read_only(EveryTenant()) as read:
        found = {app_id: await read.applications.by_id(app_id) for app_id in ("shop", "closed", "here")}
        for unknown in ("unknown", "SHOP", "shop ", ""):
            assert await read.applications.by_id(unknown) is None
    shop, closed, here = found["shop"], found["closed"], found["here"]
    assert shop is not None
    assert closed is not None
    assert here is not None
    assert shop.redirect_urls == ["https://shop.example/in", "http://localhost:3000/?from=here"]
    assert (closed.is_active, closed.redirect_urls) == (False, None)
    assert here.allowed_tenant_ids == [HERE]


async def test_a_deleted_application_is_unknown(
    registered: RegisteredApplications, database: WholeDatabase, registry: Registry
) -> None:
    model = registry["applications"]
    async with database.transaction(EveryTenant()) as tx:
        (row,) = await tx.records.add(model, [NewRow(new_id(), {**COMMON, "app_id": "gone"})], Act(by=None, at=NOW))
        await tx.records.remove(model, [row.id], Act(by=None, at=NOW), None)
        assert await tx.applications.by_id("gone") is None
