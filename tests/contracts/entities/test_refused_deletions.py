"""Deletions that ``restrict`` refuses: what refers to a row is named, as far as the caller may know of it."""

from collections.abc import Awaitable
from decimal import Decimal
from uuid import UUID

import pytest
from msgspec.structs import replace

from application.entities.writing import Write
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import Conflict, NotFound
from domain.scope import OneTenant
from tests.builders import new_id
from tests.contracts.entities.test_writing import ADA, HERE, THERE, Desk

CLERK = replace(ADA, permissions=("delete:volumes", "purge:volumes"), is_super_admin=False)
UNNAMED = "Something still refers to it."


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def volumes(desk: Desk, scope: OneTenant = HERE) -> list[UUID]:
    """The first is referred to by nothing, the second by one mark, the third by three."""
    rows = [await desk.create("volumes", scope, title=f"{n}") for n in range(3)]
    for n, row in ((1, rows[1]), (2, rows[2]), (3, rows[2]), (4, rows[2])):
        await desk.create("marks", scope, text=f"m{n}", other_id=row.id)
    return [row.id for row in rows]


async def told(attempt: Awaitable[object]) -> tuple[str, list[tuple[str, str]]]:
    with pytest.raises(Conflict) as error:
        await attempt
    return error.value.message, [(wrong.field, wrong.message) for wrong in error.value.fields]


@pytest.mark.promise(
    "declarations, rows sent back: a single one names the entity and the count, to those who may read it"
)
async def test_a_single_deletion_names_the_entity_and_the_count(desk: Desk) -> None:
    _, second, third = await volumes(desk)
    model, write = desk.registry["volumes"], Write(caller=ADA, scope=HERE)
    for row_id, number in ((second, 1), (third, 3)):
        sentence = f"Rows still refer to it: marks ({number})."
        assert await told(desk.crud.delete(write, model, row_id, None)) == (sentence, [("id", sentence)])
        assert await told(desk.crud.purge(write, model, row_id, None)) == (sentence, [("id", sentence)])


@pytest.mark.promise(
    "declarations, rows sent back: a batch delete that restrict refuses names every item and what refers to it"
)
async def test_a_batch_names_every_item(desk: Desk) -> None:
    first, second, third = await volumes(desk)
    model, write = desk.registry["volumes"], Write(caller=ADA, scope=HERE)
    message, fields = await told(desk.batches.delete(write, model, [third, first, second]))
    assert message == UNNAMED
    assert fields == [
        ("ids[0]", "Rows still refer to it: marks (3)."),
        ("ids[2]", "Rows still refer to it: marks (1)."),
    ]
    message, fields = await told(desk.batches.delete(write, model, [first, second]))
    assert (message, [field for field, _ in fields]) == ("Rows still refer to it: marks (1).", ["ids[1]"])
    assert (await desk.batches.delete(write, model, [first])).answer == [first]


@pytest.mark.promise(
    "declarations, rows sent back: a single one names the entity and the count, to those who may read it"
)
async def test_without_permission_to_read_neither_name_nor_count_is_told(desk: Desk) -> None:
    _, second, third = await volumes(desk)
    model, write = desk.registry["volumes"], Write(caller=CLERK, scope=HERE)
    assert await told(desk.crud.delete(write, model, third, None)) == (UNNAMED, [("id", UNNAMED)])
    _, fields = await told(desk.batches.delete(write, model, [second, third]))
    assert fields == [("ids[0]", UNNAMED), ("ids[1]", UNNAMED)]


async def test_absent_rows_are_told_before(desk: Desk) -> None:
    _, second, _ = await volumes(desk)
    foreign = (await volumes(desk, THERE))[1]
    model, write = desk.registry["volumes"], Write(caller=ADA, scope=HERE)
    with pytest.raises(NotFound) as error:
        await desk.batches.delete(write, model, [second, new_id(), foreign])
    assert [wrong.field for wrong in error.value.fields] == ["ids[1]", "ids[2]"]


async def test_what_a_cascade_would_take_along_is_told_of_the_row_that_was_named(desk: Desk) -> None:
    shelf = await desk.create("shelves", name="S")
    volume = await desk.create("volumes", title="V", shelf_id=shelf.id)
    await desk.create("marks", text="m", other_id=volume.id)
    model, write = desk.registry["shelves"], Write(caller=ADA, scope=HERE)
    assert (await told(desk.crud.delete(write, model, shelf.id, None)))[0] == "Rows still refer to it: marks (1)."


async def test_rows_that_no_cascade_reaches_are_counted_by_every_way_that_they_refer(
    database: WholeDatabase, registry: Registry
) -> None:
    """The server counts them: it would be asked for each of any number of rows otherwise."""
    desk = Desk(database, registry)
    first, second = [await desk.create("categories", name=name) for name in ("A", "B")]
    for n in range(5):
        category = (first, second)[n > 2]
        await desk.create("products", name="P", sku=f"SKU-{n}", price=Decimal(1), category_id=category.id)
    foreign = await desk.create("categories", THERE, name="C")
    await desk.create("products", THERE, name="P", sku="SKU-9", price=Decimal(1), category_id=foreign.id)
    model, write = registry["categories"], Write(caller=ADA, scope=HERE)
    _, fields = await told(desk.batches.delete(write, model, [second.id, first.id]))
    assert fields == [
        ("ids[0]", "Rows still refer to it: products (2)."),
        ("ids[1]", "Rows still refer to it: products (3)."),
    ]
    sentence = "Rows still refer to it: products (3)."
    assert await told(desk.crud.purge(write, model, first.id, None)) == (sentence, [("id", sentence)])
    blind = Write(caller=replace(CLERK, permissions=("delete:categories",)), scope=HERE)
    assert await told(desk.crud.delete(blind, model, first.id, None)) == (UNNAMED, [("id", UNNAMED)])
