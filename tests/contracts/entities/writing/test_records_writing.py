"""Records: writes are all or none, in one tenant, and safe against concurrent ones."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import msgspec
import pytest

from adapters.postgres.database import PostgresDatabase
from application.ports.entities.records import Act, Change, NewRow, Stored, Values
from application.ports.whole_database import WholeDatabase
from domain.entities.catalogue import Status
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.query import WHOLE, View
from domain.errors import BadRequest, Conflict, NotFound, PreconditionFailed, ValidationError
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
LATER = Act(by=new_id(), at=NOW + timedelta(hours=1))


def product(sku: str, **given: object) -> Values:
    values: Values = {
        "name": "A product",
        "sku": sku,
        "description": None,
        "price": Decimal("9.90"),
        "stock": 0,
        "status": Status.DRAFT,
        "category_id": None,
        "released_at": None,
    }
    return {**values, "photo_id": None, **given}


def category(name: str) -> Values:
    return {"name": name, "description": None}


class Writer:
    """Calls on records, each in a transaction of its own or, for adding and changing, in one statement."""

    def __init__(self, database: WholeDatabase, registry: Registry, *, is_alone: bool = False) -> None:
        self.database = database
        self.registry = registry
        self._open = database.autocommit if is_alone else database.transaction

    async def add(self, plural: str, *rows: Values, scope: OneTenant = HERE) -> list[Stored]:
        async with self._open(scope) as tx:
            return await tx.records.add(self.registry[plural], [NewRow(new_id(), row) for row in rows], ACT)

    async def change(self, plural: str, *changes: Change, scope: OneTenant = HERE) -> list[Stored]:
        async with self._open(scope) as tx:
            return await tx.records.change(self.registry[plural], changes, LATER)

    async def remove(self, plural: str, *ids: UUID, version: int | None = None, scope: OneTenant = HERE) -> list[UUID]:
        async with self.database.transaction(scope) as tx:
            return await tx.records.remove(self.registry[plural], ids, LATER, version)

    async def get(self, plural: str, row_id: UUID, view: View = WHOLE) -> dict[str, object] | None:
        async with self.database.read_only(HERE) as read:
            stored = await read.records.get(self.registry[plural], row_id, view)
        return None if stored is None else body(stored)


def body(stored: Stored) -> dict[str, object]:
    decoded: dict[str, object] = msgspec.json.decode(stored.body)
    return decoded


def fields_of(error: pytest.ExceptionInfo[Conflict] | pytest.ExceptionInfo[ValidationError]) -> list[str]:
    return [detail.field for detail in error.value.fields]


@pytest.fixture(params=["in a transaction", "alone"])
def writer(database: WholeDatabase, registry: Registry, request: pytest.FixtureRequest) -> Writer:
    return Writer(database, registry, is_alone=request.param == "alone")


async def test_a_new_row_is_answered_as_it_will_be_read(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1", released_at=NOW))
    assert stored.version == 1
    assert bytes(stored.body).decode() == (
        f'{{"id":"{stored.id}","name":"A product","sku":"SKU-1","description":null,"price":9.90,"stock":0,'
        f'"status":"draft","categoryId":null,"releasedAt":"2026-11-20T12:00:00.123456Z","photoId":null,'
        f'"createdAt":"2026-11-20T12:00:00.123456Z","updatedAt":"2026-11-20T12:00:00.123456Z",'
        f'"createdBy":"{ACT.by}","updatedBy":"{ACT.by}","isDeleted":false,"deletedAt":null,"deletedBy":null,"version":1}}'
    )
    assert await writer.get("products", stored.id) == body(stored)


async def test_many_rows_are_answered_in_the_order_given(writer: Writer) -> None:
    stored = await writer.add("products", *[product(f"SKU-{n}") for n in (3, 1, 2)])
    assert [body(row)["sku"] for row in stored] == ["SKU-3", "SKU-1", "SKU-2"]


async def test_lists_and_nulls_are_stored(writer: Writer) -> None:
    tenants = [new_id(), new_id()]
    rows: list[Values] = [
        {
            "app_id": f"app-{n}",
            "name": "App",
            "is_active": True,
            "allowed_tenant_ids": given,
            "required_permission": None,
            "redirect_urls": None,
        }
        for n, given in enumerate([tenants, [], None])
    ]
    stored = await writer.add("applications", *rows)
    assert [body(row)["allowedTenantIds"] for row in stored] == [[str(tenant) for tenant in tenants], [], None]
    async with writer.database.transaction(HERE) as tx:
        current = await tx.records.current(writer.registry["applications"], [row.id for row in stored])
    assert current[stored[0].id].values == rows[0]


@pytest.mark.promise("entities, details: CONFLICT: a unique value is taken; the field is named")
async def test_a_taken_value_names_the_field_and_stores_nothing(writer: Writer) -> None:
    await writer.add("categories", category("Books"))
    with pytest.raises(Conflict) as error:
        await writer.add("categories", category("BOOKS"))
    assert fields_of(error) == ["name"]


async def test_a_taken_value_in_a_batch_names_the_row(writer: Writer) -> None:
    await writer.add("products", product("TAKEN"))
    with pytest.raises(Conflict) as error:
        await writer.add("products", product("FREE"), product("TAKEN"))
    assert fields_of(error) == ["items[1].sku"]
    (stored,) = await writer.add("products", product("FREE"))
    assert stored.version == 1


async def test_a_value_that_differs_in_case_is_not_taken_where_case_counts(writer: Writer) -> None:
    await writer.add("products", product("TAKEN"))
    with pytest.raises(Conflict) as error:
        await writer.add("products", product("taken"), product("TAKEN"))
    assert fields_of(error) == ["items[1].sku"]


async def test_two_rows_of_a_batch_that_clash_are_both_named(writer: Writer) -> None:
    with pytest.raises(Conflict) as error:
        await writer.add("products", product("ONE"), product("SAME"), product("SAME"))
    assert fields_of(error) == ["items[1].sku", "items[2].sku"]


@pytest.mark.promise("entities, details: Unique values are per tenant and among rows that are not deleted")
async def test_unique_values_are_those_of_one_tenant_and_of_living_rows(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    await writer.add("products", product("SKU-1"), scope=THERE)
    await writer.remove("products", stored.id)
    await writer.add("products", product("SKU-1"))


@pytest.mark.promise("entities, details: Keys and foreign keys contain the tenant: no relation across tenants")
async def test_a_reference_leads_to_a_living_row_of_the_same_tenant(writer: Writer) -> None:
    (here,) = await writer.add("categories", category("Books"))
    (there,) = await writer.add("categories", category("Books"), scope=THERE)
    (gone,) = await writer.add("categories", category("Gone"))
    await writer.remove("categories", gone.id)
    await writer.add("products", product("SKU-1", category_id=here.id))
    for target in (there.id, gone.id, new_id()):
        with pytest.raises(ValidationError) as error:
            await writer.add("products", product("SKU-2", category_id=target))
        assert fields_of(error) == ["categoryId"]
    with pytest.raises(ValidationError) as error:
        await writer.add("products", product("A-1"), product("A-2", category_id=there.id))
    assert fields_of(error) == ["items[1].categoryId"]


@pytest.mark.promise("PUT /api/{entities}/{id}")
async def test_a_change_alters_only_given_fields_and_increments_the_version(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1", description="old"))
    (changed,) = await writer.change("products", Change(stored.id, {"description": None, "price": Decimal("1.00")}))
    assert changed.version == 2
    expected = {"description": None, "price": 1.0, "version": 2, "updatedBy": str(LATER.by)}
    assert body(changed) == {**body(stored), **expected, "updatedAt": "2026-11-20T13:00:00.123456Z"}


async def test_changes_of_different_fields_go_together(writer: Writer) -> None:
    first, second = await writer.add("products", product("SKU-1"), product("SKU-2"))
    changed = await writer.change(
        "products", Change(second.id, {"name": "Two"}), Change(first.id, {"stock": 5, "status": Status.RETIRED})
    )
    assert [(body(row)["name"], body(row)["stock"], body(row)["status"]) for row in changed] == [
        ("Two", 0, "draft"),
        ("A product", 5, "retired"),
    ]


async def test_a_change_of_another_version_is_refused(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    await writer.change("products", Change(stored.id, {"stock": 1}, version=1))
    with pytest.raises(PreconditionFailed):
        await writer.change("products", Change(stored.id, {"stock": 2}, version=1))


async def test_changing_an_absent_row_changes_nothing(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    (foreign,) = await writer.add("products", product("SKU-1"), scope=THERE)
    for absent in (foreign.id, new_id()):
        with pytest.raises(NotFound):
            await writer.change("products", Change(absent, {"stock": 1}))
    with pytest.raises(NotFound) as error:
        await writer.change("products", Change(stored.id, {"stock": 1}), Change(foreign.id, {"stock": 1}))
    assert [detail.field for detail in error.value.fields] == ["items[1].id"]
    assert await writer.get("products", stored.id) == body(stored)


async def test_a_change_to_a_taken_value_is_refused(writer: Writer) -> None:
    first, second = await writer.add("products", product("SKU-1"), product("SKU-2"))
    with pytest.raises(Conflict) as error:
        await writer.change("products", Change(second.id, {"sku": "SKU-1"}))
    assert fields_of(error) == ["sku"]
    with pytest.raises(Conflict) as error:
        await writer.change("products", Change(first.id, {"stock": 1}), Change(second.id, {"sku": "SKU-1"}))
    assert "items[1].sku" in fields_of(error)


@pytest.mark.promise("DELETE /api/{entities}/{id}: 204")
@pytest.mark.promise("entities, contract: Soft delete by default; permanent without it")
async def test_a_deleted_row_is_gone_and_can_be_shown(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    assert await writer.remove("products", stored.id, new_id()) == [stored.id]
    assert await writer.get("products", stored.id) is None
    shown = await writer.get("products", stored.id, View(include_deleted=True))
    assert shown is not None
    assert (shown["isDeleted"], shown["deletedBy"], shown["version"]) == (True, str(LATER.by), 2)
    assert await writer.remove("products", stored.id) == []


async def test_another_tenants_row_is_not_deleted(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    assert await writer.remove("products", stored.id, scope=THERE) == []
    assert await writer.get("products", stored.id) == body(stored)


async def test_a_delete_of_another_version_is_refused(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    with pytest.raises(PreconditionFailed):
        await writer.remove("products", stored.id, version=2)
    assert await writer.remove("products", stored.id, version=1) == [stored.id]


@pytest.mark.promise("entities, details: CONFLICT: still referenced on delete")
@pytest.mark.promise("entities, details: restrict")
async def test_a_referenced_row_cannot_be_deleted(writer: Writer) -> None:
    (target,) = await writer.add("categories", category("Books"))
    (referring,) = await writer.add("products", product("SKU-1", category_id=target.id))
    with pytest.raises(Conflict):
        await writer.remove("categories", target.id)
    await writer.remove("products", referring.id)
    assert await writer.remove("categories", target.id) == [target.id]


async def test_reviews_go_with_their_product(writer: Writer) -> None:
    (target,) = await writer.add("products", product("SKU-1"))
    (review,) = await writer.add("reviews", {"product_id": target.id, "rating": 5, "author": "Ada", "text": None})
    await writer.remove("products", target.id)
    assert await writer.get("reviews", review.id) is None


@pytest.mark.promise("entities, contract: Soft delete by default; permanent without it")
async def test_without_soft_delete_a_deleted_row_is_removed_permanently(writer: Writer) -> None:
    (stored,) = await writer.add("currencies", {"code": "EUR", "name": "Euro"})
    assert await writer.remove("currencies", stored.id) == [stored.id]
    await writer.add("currencies", {"code": "EUR", "name": "Euro"})


async def test_rows_of_tenants_are_not_written_under_every_tenant(writer: Writer) -> None:
    with pytest.raises(BadRequest):
        async with writer.database.transaction(EveryTenant()) as tx:
            await tx.records.add(writer.registry["categories"], [NewRow(new_id(), category("Books"))], ACT)


async def test_a_row_added_in_a_failed_transaction_is_not_stored(writer: Writer) -> None:
    row = NewRow(new_id(), category("Books"))

    async def fail() -> None:
        async with writer.database.transaction(HERE) as tx:
            await tx.records.add(writer.registry["categories"], [row], ACT)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await writer.get("categories", row.id) is None


async def test_current_returns_the_values_of_stored_rows(writer: Writer) -> None:
    values = product("SKU-1", status=Status.RETIRED)
    (stored,) = await writer.add("products", values)
    for scope, expected in ((HERE, {stored.id: values}), (THERE, {})):
        async with writer.database.transaction(scope) as tx:
            current = await tx.records.current(writer.registry["products"], [stored.id, new_id()])
        assert {row_id: row.values for row_id, row in current.items()} == expected


async def test_of_twenty_parallel_inserts_of_a_unique_value_one_succeeds(writer: Writer) -> None:
    results = await asyncio.gather(
        *(writer.add("products", product("SKU-1")) for _ in range(20)), return_exceptions=True
    )
    assert sum(isinstance(result, list) for result in results) == 1
    assert sum(isinstance(result, Conflict) for result in results) == 19


@pytest.mark.promise("entities, details: version, ETag, If-Match inside the UPDATE, If-None-Match")
async def test_of_twenty_changes_of_one_version_one_wins(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    results = await asyncio.gather(
        *(writer.change("products", Change(stored.id, {"stock": n}, version=1)) for n in range(20)),
        return_exceptions=True,
    )
    assert sum(isinstance(result, list) for result in results) == 1
    assert sum(isinstance(result, PreconditionFailed) for result in results) == 19


async def test_changes_at_once_lose_none(writer: Writer) -> None:
    (stored,) = await writer.add("products", product("SKU-1"))
    await asyncio.gather(*(writer.change("products", Change(stored.id, {"stock": n})) for n in range(20)))
    found = await writer.get("products", stored.id)
    assert found is not None
    assert found["version"] == 21


async def test_batches_in_opposite_order_do_not_deadlock(writer: Writer) -> None:
    stored = await writer.add("products", *[product(f"SKU-{n}") for n in range(30)])
    forth = [Change(row.id, {"stock": 1}) for row in stored]
    await asyncio.gather(*(writer.change("products", *forth[:: (-1) ** n]) for n in range(8)))
    for before in stored:
        found = await writer.get("products", before.id)
        assert found is not None
        assert found["version"] == 9


async def test_a_delete_and_a_row_that_refers_to_it_never_both_win(writer: Writer) -> None:
    for n in range(25):
        (target,) = await writer.add("categories", category(f"Category {n}"))
        added, removed = await asyncio.gather(
            writer.add("products", product(f"SKU-{n}", category_id=target.id)),
            writer.remove("categories", target.id),
            return_exceptions=True,
        )
        assert isinstance(added, ValidationError) != isinstance(removed, Conflict)


async def test_a_row_that_refers_holds_what_it_refers_to(postgres: PostgresDatabase, registry: Registry) -> None:
    writer = Writer(postgres, registry)
    (target,) = await writer.add("categories", category("Books"))
    async with postgres.transaction(HERE) as tx:
        model: EntityModel = registry["products"]
        await tx.records.add(model, [NewRow(new_id(), product("SKU-1", category_id=target.id))], ACT)
        removal = asyncio.create_task(writer.remove("categories", target.id))
        done, _ = await asyncio.wait([removal], timeout=0.2)
        assert not done
    with pytest.raises(Conflict):
        await removal
