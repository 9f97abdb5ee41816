"""Records: deleting, restoring and purging rows, and the rows that refer to them."""

import asyncio
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from application.ports.entities.records import Act, Change, NewRow, Stored
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE, View
from domain.errors import BadRequest, Conflict, NotFound, PreconditionFailed
from domain.scope import EveryTenant, OneTenant
from tests.builders import NOW, new_id
from tests.library import Condition

HERE, THERE = OneTenant(new_id()), OneTenant(new_id())
ACT = Act(by=new_id(), at=NOW)
LATER = Act(by=new_id(), at=NOW + timedelta(hours=1))
DELETED = View(include_deleted=True)


class Shelves:
    """Calls on records, each in a transaction of its own."""

    def __init__(self, database: WholeDatabase, registry: Registry) -> None:
        self.database = database
        self.registry = registry

    async def add(self, plural: str, scope: OneTenant = HERE, **values: object) -> UUID:
        model = self.registry[plural]
        defaults = {field.name: field.default for field in model.declared if not field.required}
        async with self.database.transaction(scope) as tx:
            (stored,) = await tx.records.add(model, [NewRow(new_id(), {**defaults, **values})], ACT)
        return stored.id

    async def change(self, plural: str, row_id: UUID, **values: object) -> None:
        async with self.database.transaction(HERE) as tx:
            await tx.records.change(self.registry[plural], [Change(row_id, values)], LATER)

    async def remove(self, plural: str, *ids: UUID) -> list[UUID]:
        async with self.database.transaction(HERE) as tx:
            return await tx.records.remove(self.registry[plural], ids, LATER, None)

    async def purge(self, plural: str, *ids: UUID, version: int | None = None, scope: OneTenant = HERE) -> list[UUID]:
        async with self.database.transaction(scope) as tx:
            return await tx.records.purge(self.registry[plural], ids, LATER, version)

    async def restore(self, plural: str, row_id: UUID, scope: OneTenant = HERE) -> Stored:
        async with self.database.transaction(scope) as tx:
            return await tx.records.restore(self.registry[plural], row_id, LATER)

    async def lives(self, plural: str, row_id: UUID, view: View = WHOLE) -> bool:
        async with self.database.read_only(HERE) as read:
            return await read.records.get(self.registry[plural], row_id, view) is not None


@pytest.fixture
def shelves(library: WholeDatabase, library_registry: Registry) -> Shelves:
    return Shelves(library, library_registry)


@pytest.mark.promise("entities, details: Restore; 409 when a unique value was taken meanwhile")
async def test_a_restored_row_is_as_it_was(shelves: Shelves) -> None:
    row = await shelves.add("shelves", name="A")
    await shelves.remove("shelves", row)
    stored = await shelves.restore("shelves", row)
    assert stored.version == 3
    assert b'"name":"A"' in bytes(stored.body)
    assert b'"isDeleted":false,"deletedAt":null,"deletedBy":null,"version":3}' in bytes(stored.body)
    assert f'"updatedBy":"{LATER.by}"'.encode() in bytes(stored.body)
    assert await shelves.lives("shelves", row)


async def test_a_row_that_is_not_deleted_cannot_be_restored(shelves: Shelves) -> None:
    row = await shelves.add("shelves", name="A")
    with pytest.raises(Conflict):
        await shelves.restore("shelves", row)


async def test_another_tenants_or_an_unknown_row_cannot_be_restored(shelves: Shelves) -> None:
    row = await shelves.add("shelves", name="A")
    await shelves.remove("shelves", row)
    with pytest.raises(NotFound):
        await shelves.restore("shelves", row, THERE)
    with pytest.raises(NotFound):
        await shelves.restore("shelves", new_id())
    assert not await shelves.lives("shelves", row)


async def test_rows_of_tenants_are_not_removed_or_restored_under_every_tenant(shelves: Shelves) -> None:
    several = ([new_id()], ACT, None)
    for name, given in (("remove", several), ("purge", several), ("restore", (new_id(), ACT))):
        with pytest.raises(BadRequest):
            async with shelves.database.transaction(EveryTenant()) as tx:
                await getattr(tx.records, name)(shelves.registry["shelves"], *given)


@pytest.mark.promise("entities, details: Restore; 409 when a unique value was taken meanwhile")
async def test_a_row_is_not_restored_when_another_row_has_its_unique_value(shelves: Shelves) -> None:
    row = await shelves.add("shelves", name="A")
    await shelves.remove("shelves", row)
    other = await shelves.add("shelves", name="A")
    with pytest.raises(Conflict) as error:
        await shelves.restore("shelves", row)
    assert [detail.field for detail in error.value.fields] == ["name"]
    await shelves.remove("shelves", other)
    await shelves.restore("shelves", row)


@pytest.mark.promise("entities, details: cascade, restored together, also in cycles of entities")
async def test_restoring_a_row_restores_the_rows_deleted_with_it(shelves: Shelves) -> None:
    outer = await shelves.add("shelves", name="outer")
    inner = await shelves.add("shelves", name="inner", inside_id=outer)
    volume = await shelves.add("volumes", title="T", shelf_id=inner)
    mark = await shelves.add("marks", text="m", volume_id=volume)
    before = await shelves.add("marks", text="before", volume_id=volume)
    await shelves.remove("marks", before)
    assert await shelves.remove("shelves", outer) == [outer]
    assert not await shelves.lives("marks", mark)
    await shelves.restore("shelves", outer)
    for plural, row in (("shelves", inner), ("volumes", volume), ("marks", mark)):
        assert await shelves.lives(plural, row)
    assert not await shelves.lives("marks", before)


async def test_rows_deleted_in_one_batch_are_restored_each_with_its_dependents(shelves: Shelves) -> None:
    shelf, other = await shelves.add("shelves", name="one"), await shelves.add("shelves", name="two")
    volume = await shelves.add("volumes", title="T", shelf_id=shelf)
    on_two = await shelves.add("volumes", title="T", shelf_id=other)
    assert await shelves.remove("shelves", other, shelf, other) == [other, shelf]
    await shelves.restore("shelves", shelf)
    assert await shelves.lives("volumes", volume)
    assert not await shelves.lives("volumes", on_two)


async def test_a_cascaded_row_is_not_restored_separately_from_its_reference(shelves: Shelves) -> None:
    shelf = await shelves.add("shelves", name="A")
    volume = await shelves.add("volumes", title="T", shelf_id=shelf)
    await shelves.remove("shelves", shelf)
    with pytest.raises(Conflict) as error:
        await shelves.restore("volumes", volume)
    assert [detail.field for detail in error.value.fields] == ["shelfId"]


async def test_a_row_is_not_restored_when_its_dependents_refer_to_deleted_rows(shelves: Shelves) -> None:
    volume, other = await shelves.add("volumes", title="T"), await shelves.add("volumes", title="O")
    mark = await shelves.add("marks", text="m", volume_id=volume, other_id=other)
    await shelves.remove("volumes", volume)
    await shelves.remove("volumes", other)
    with pytest.raises(Conflict):
        await shelves.restore("volumes", volume)
    assert not await shelves.lives("volumes", volume)
    await shelves.restore("volumes", other)
    await shelves.restore("volumes", volume)
    assert await shelves.lives("marks", mark)


async def test_a_row_is_not_restored_when_a_dependent_has_a_reused_unique_value(shelves: Shelves) -> None:
    volume = await shelves.add("volumes", title="T")
    await shelves.add("marks", text="m", volume_id=volume)
    await shelves.remove("volumes", volume)
    await shelves.add("marks", text="m")
    with pytest.raises(Conflict) as error:
        await shelves.restore("volumes", volume)
    assert error.value.fields == ()
    assert not await shelves.lives("volumes", volume)


async def test_rows_in_a_reference_cycle_are_deleted_and_restored_together(shelves: Shelves) -> None:
    shelf = await shelves.add("shelves", name="one")
    other = await shelves.add("shelves", name="two", inside_id=shelf)
    await shelves.change("shelves", shelf, inside_id=other)
    await shelves.remove("shelves", shelf)
    assert not await shelves.lives("shelves", other)
    await shelves.restore("shelves", shelf)
    assert await shelves.lives("shelves", other)
    assert await shelves.purge("shelves", other) == [other]
    assert not await shelves.lives("shelves", shelf, DELETED)


async def test_a_restricting_row_that_the_cascade_also_deletes_does_not_block_the_deletion(shelves: Shelves) -> None:
    """The mark restricts the deletion of the volume by one relation and is deleted with it by the other."""
    volume = await shelves.add("volumes", title="T")
    mark = await shelves.add("marks", text="m", volume_id=volume, other_id=volume)
    await shelves.remove("volumes", volume)
    assert not await shelves.lives("marks", mark)


@pytest.mark.promise("entities, details: clear")
async def test_deleting_a_shared_row_clears_its_references_in_every_tenant(shelves: Shelves) -> None:
    genre = await shelves.add("genres", name="G")
    volume = await shelves.add("volumes", title="T", genre_id=genre)
    foreign = await shelves.add("volumes", title="T", scope=THERE, genre_id=genre)
    await shelves.remove("genres", genre)
    async with shelves.database.read_only(EveryTenant()) as read:
        for row in (volume, foreign):
            stored = await read.records.get(shelves.registry["volumes"], row, WHOLE)
            assert stored is not None
            assert b'"genreId":null' in bytes(stored.body)
    await shelves.restore("genres", genre)
    assert await shelves.lives("genres", genre)


async def test_a_purged_row_cannot_be_restored(shelves: Shelves) -> None:
    shelf = await shelves.add("shelves", name="A")
    volume = await shelves.add("volumes", title="T", shelf_id=shelf)
    loan = await shelves.add("loans", volume_id=volume, borrower="Ada")
    gone = await shelves.add("volumes", title="U", shelf_id=shelf)
    await shelves.remove("volumes", gone)
    assert await shelves.purge("shelves", shelf) == [shelf]
    for plural, row in (("shelves", shelf), ("volumes", volume), ("volumes", gone), ("loans", loan)):
        assert not await shelves.lives(plural, row, DELETED if plural != "loans" else WHOLE)


@pytest.mark.promise("entities, details: permanent=true needs purge:, and accepts deleted rows")
async def test_a_deleted_row_can_still_go_for_good(shelves: Shelves) -> None:
    row = await shelves.add("shelves", name="A")
    await shelves.remove("shelves", row)
    assert await shelves.purge("shelves", row, new_id(), scope=THERE) == []
    with pytest.raises(PreconditionFailed):
        await shelves.purge("shelves", row, version=1)
    assert await shelves.purge("shelves", row, version=2) == [row]
    assert not await shelves.lives("shelves", row, DELETED)


async def test_a_deleted_referring_row_still_restricts_a_purge(shelves: Shelves) -> None:
    volume = await shelves.add("volumes", title="T")
    mark = await shelves.add("marks", text="m", other_id=volume)
    await shelves.remove("marks", mark)
    with pytest.raises(Conflict):
        await shelves.purge("volumes", volume)
    await shelves.purge("marks", mark)
    assert await shelves.purge("volumes", volume) == [volume]


async def test_a_restoration_and_a_deletion_of_its_target_never_both_succeed(shelves: Shelves) -> None:
    for n in range(15):
        volume = await shelves.add("volumes", title=f"T {n}")
        mark = await shelves.add("marks", text=f"m {n}", other_id=volume)
        await shelves.remove("marks", mark)
        restored, removed = await asyncio.gather(
            shelves.restore("marks", mark), shelves.remove("volumes", volume), return_exceptions=True
        )
        assert isinstance(restored, Conflict) != isinstance(removed, Conflict)


async def test_a_change_of_nothing_changes_nothing(shelves: Shelves) -> None:
    shelf, other = await shelves.add("shelves", name="one"), await shelves.add("shelves", name="two")
    model = shelves.registry["shelves"]
    async with shelves.database.transaction(HERE) as tx:
        (alone,) = await tx.records.change(model, [Change(shelf, {})], LATER)
        first, second = await tx.records.change(model, [Change(shelf, {}), Change(other, {"name": "2"})], LATER)
        with pytest.raises(PreconditionFailed):
            await tx.records.change(model, [Change(shelf, {}, version=7)], LATER)
        with pytest.raises(NotFound):
            await tx.records.change(model, [Change(new_id(), {})], LATER)
    assert [changed.version for changed in (alone, first, second)] == [1, 1, 2]
    assert f'"updatedBy":"{ACT.by}"'.encode() in bytes(first.body)


class TestHistory:
    async def test_each_version_is_one_entry(self, shelves: Shelves) -> None:
        row = await shelves.add("volumes", title="T", cost=Decimal("1.50"), bought_at=NOW)
        await shelves.change("volumes", row, title="U", condition=Condition.WORN, code=None)
        await shelves.change("volumes", row)
        await shelves.remove("volumes", row)
        await shelves.restore("volumes", row)
        assert await told(shelves, "volumes", row) == [
            (4, "restored", LATER.by, {}),
            (3, "deleted", LATER.by, {}),
            (2, "changed", LATER.by, {"title": ('"T"', '"U"'), "condition": ('"new"', '"worn"')}),
            (
                1,
                "created",
                ACT.by,
                {
                    "title": ("null", '"T"'),
                    "cost": ("null", "1.50"),
                    "condition": ("null", '"new"'),
                    "boughtAt": ("null", '"2026-11-20T12:00:00.123456Z"'),
                },
            ),
        ]

    async def test_the_history_of_a_row_contains_changes_made_by_cascades(self, shelves: Shelves) -> None:
        shelf, genre = await shelves.add("shelves", name="A"), await shelves.add("genres", name="G")
        row = await shelves.add("volumes", title="T", shelf_id=shelf, genre_id=genre)
        await shelves.remove("genres", genre)
        await shelves.remove("shelves", shelf)
        await shelves.restore("shelves", shelf)
        await shelves.purge("shelves", shelf)
        lines = await told(shelves, "volumes", row)
        assert [(version, action) for version, action, _, _ in lines] == [
            (5, "purged"),
            (4, "restored"),
            (3, "deleted"),
            (2, "changed"),
            (1, "created"),
        ]
        assert lines[3][3] == {"genreId": (f'"{genre}"', "null")}

    async def test_the_history_of_a_row_is_visible_only_in_its_tenant(self, shelves: Shelves) -> None:
        row = await shelves.add("volumes", title="T")
        genre = await shelves.add("genres", name="G")
        async with shelves.database.read_only(THERE) as read:
            assert await read.history.page(shelves.registry["volumes"], row, 0, 10) == ([], 0)
            assert (await read.history.page(shelves.registry["genres"], genre, 0, 10))[1] == 1
        async with shelves.database.read_only(EveryTenant()) as read:
            assert (await read.history.page(shelves.registry["volumes"], row, 0, 10))[1] == 1

    async def test_it_comes_in_pages(self, shelves: Shelves) -> None:
        row = await shelves.add("volumes", title="T")
        for n in range(4):
            await shelves.change("volumes", row, title=f"T {n}")
        async with shelves.database.read_only(HERE) as read:
            entries, total = await read.history.page(shelves.registry["volumes"], row, 3, 10)
            assert ([entry.version for entry in entries], total) == ([2, 1], 5)
            assert await read.history.page(shelves.registry["volumes"], row, 9, 10) == ([], 5)

    async def test_a_change_that_is_rolled_back_is_not_in_the_history(self, shelves: Shelves) -> None:
        row = await shelves.add("volumes", title="T")

        async def fail() -> None:
            async with shelves.database.transaction(HERE) as tx:
                await tx.records.change(shelves.registry["volumes"], [Change(row, {"title": "U"})], LATER)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await fail()
        assert len(await told(shelves, "volumes", row)) == 1

    async def test_entities_without_it_have_none(self, shelves: Shelves) -> None:
        row = await shelves.add("shelves", name="A")
        assert await told(shelves, "shelves", row) == []


async def told(
    shelves: Shelves, plural: str, row: UUID
) -> list[tuple[int, str, UUID | None, dict[str, tuple[str, str]]]]:
    async with shelves.database.read_only(HERE) as read:
        entries, _ = await read.history.page(shelves.registry[plural], row, 0, 100)
    return [
        (
            entry.version,
            entry.action,
            entry.by,
            {change.field: (bytes(change.was).decode(), bytes(change.to).decode()) for change in entry.changes},
        )
        for entry in entries
    ]
