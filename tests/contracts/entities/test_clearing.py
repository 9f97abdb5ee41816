"""Deletions that clear references: the rule of the row that changes is asked."""

import pytest

from application.entities.writing import Write
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE
from domain.errors import UnprocessableEntity
from tests.contracts.entities.test_writing import ADA, HERE, Desk

WRITE = Write(caller=ADA, scope=HERE)


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
async def test_a_rule_refuses_the_deletion_that_would_clear_its_reference(desk: Desk) -> None:
    genres = desk.registry["genres"]
    genre = await desk.create("genres", name="Poems")
    await desk.create("volumes", title="A", code="bound", genre_id=genre.id)
    for attempt in (
        lambda: desk.writing.remove(WRITE, genres, [genre.id], None),
        lambda: desk.writing.purge(WRITE, genres, genre.id, None),
    ):
        with pytest.raises(UnprocessableEntity) as caught:
            await attempt()
        assert [error.field for error in caught.value.fields] == ["volumes.genreId"]
    async with desk.writing.database.read_only(HERE) as read:
        assert await read.records.get(genres, genre.id, WHOLE) is not None


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
async def test_a_rule_that_has_nothing_against_it_lets_it_be_cleared(desk: Desk) -> None:
    genre, other = await desk.create("genres", name="Poems"), await desk.create("genres", name="Plays")
    volume = await desk.create("volumes", title="A", code="free", genre_id=genre.id)
    await desk.create("volumes", title="B", code="bound", genre_id=other.id)
    await desk.writing.remove(WRITE, desk.registry["genres"], [genre.id], None)
    async with desk.writing.database.transaction(HERE) as tx:
        found = await tx.records.current(desk.registry["volumes"], [volume.id])
    assert found[volume.id].values["genre_id"] is None


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
async def test_a_deleted_row_is_not_asked(desk: Desk) -> None:
    genre = await desk.create("genres", name="Poems")
    volume = await desk.create("volumes", title="A", code="bound", genre_id=genre.id)
    await desk.writing.remove(WRITE, desk.registry["volumes"], [volume.id], None)
    await desk.writing.remove(WRITE, desk.registry["genres"], [genre.id], None)
