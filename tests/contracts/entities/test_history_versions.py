"""Each version of a row has one line in its history, whoever writes at the same time: no index says so."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any
from uuid import UUID

import pytest

from application.entities.writing import Write
from application.ports.entities.records import Change
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import Conflict, NotFound, PreconditionFailed
from tests.contracts.entities.test_writing import ADA, HERE, Desk

WRITE = Write(caller=ADA, scope=HERE)
Lines = list[tuple[int, str]]


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def lines(library: WholeDatabase, desk: Desk, row: UUID) -> Lines:
    async with library.read_only(HERE) as read:
        entries, total = await read.history.page(desk.registry["volumes"], row, 0, 500)
    assert total == len(entries)
    return [(entry.version, entry.action) for entry in entries]


def versions(found: Lines) -> list[int]:
    return [version for version, _ in found]


async def refused(writes: Sequence[Coroutine[Any, Any, object]]) -> int:
    """Writes all at once, and tells how many lost against another one."""
    answers = await asyncio.gather(*writes, return_exceptions=True)
    errors = [answer for answer in answers if isinstance(answer, BaseException)]
    assert all(isinstance(error, Conflict | NotFound | PreconditionFailed) for error in errors), errors
    return len(errors)


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_changes_at_the_same_time_make_a_line_for_each_version(library: WholeDatabase, desk: Desk) -> None:
    volumes = desk.registry["volumes"]
    first, second = [(await desk.create("volumes", title=title)).id for title in "AB"]
    singly = [
        desk.crud.update(WRITE, volumes, Change(row, {"title": f"T {n}"})) for n in range(4) for row in (first, second)
    ]
    together = [
        desk.batches.update(WRITE, volumes, [Change(row, {"title": f"U {n}"}) for row in order])
        for n in range(2)
        for order in ((first, second), (second, first))
    ]
    assert await refused([*singly, *together]) == 0
    for row in (first, second):
        assert versions(await lines(library, desk, row)) == list(range(9, 0, -1))


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_of_changes_of_the_same_version_one_has_a_line(library: WholeDatabase, desk: Desk) -> None:
    volumes = desk.registry["volumes"]
    row = (await desk.create("volumes", title="T")).id
    writes = [desk.crud.update(WRITE, volumes, Change(row, {"title": f"T {n}"}, version=1)) for n in range(8)]
    assert await refused(writes) == 7
    assert await lines(library, desk, row) == [(2, "changed"), (1, "created")]


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_deletions_and_restorations_at_the_same_time_make_a_line_for_each_version(
    library: WholeDatabase, desk: Desk
) -> None:
    volumes = desk.registry["volumes"]
    row = (await desk.create("volumes", title="T")).id
    for _ in range(3):
        await refused([desk.crud.delete(WRITE, volumes, row, None) for _ in range(4)])
        await refused([desk.crud.restore(WRITE, volumes, row, None) for _ in range(4)])
    turns = [(version, "restored" if version % 2 else "deleted") for version in range(7, 1, -1)]
    assert await lines(library, desk, row) == [*turns, (1, "created")]


@pytest.mark.promise("security, audit trail: each version of a row has one line, whoever writes at the same time")
async def test_of_purges_at_the_same_time_one_has_a_line(library: WholeDatabase, desk: Desk) -> None:
    volumes = desk.registry["volumes"]
    row = (await desk.create("volumes", title="T")).id
    assert await refused([desk.crud.purge(WRITE, volumes, row, None) for _ in range(4)]) == 3
    assert await lines(library, desk, row) == [(2, "purged"), (1, "created")]
