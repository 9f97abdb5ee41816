"""Refused deletions of rows with many referrers: the check stops at a bounded number of them."""

import pytest

from application.entities.writing import Write
from application.ports.entities.records import Act, NewRow
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.errors import MOST_COUNTED, Conflict
from domain.scope import OneTenant
from tests.builders import NOW, new_id
from tests.contracts.entities.writing.test_writing import ADA, HERE, THERE, Desk

ACT = Act(by=new_id(), at=NOW)
WRITE = Write(caller=ADA, scope=HERE)


@pytest.fixture
def desk(library: WholeDatabase, library_registry: Registry) -> Desk:
    return Desk(library, library_registry)


async def add(desk: Desk, plural: str, number: int, scope: OneTenant = HERE, **given: object) -> None:
    rows = [{**given, **({"text": str(new_id())} if plural == "marks" else {})} for _ in range(number)]
    async with desk.writing.database.transaction(scope) as tx:
        added = [NewRow(new_id(), desk.values(plural, **row)) for row in rows]
        await tx.records.add(desk.registry[plural], added, ACT)


async def refusal(desk: Desk, plural: str, *attempted: object) -> list[str]:
    with pytest.raises(Conflict) as error:
        await desk.batches.delete(WRITE, desk.registry[plural], list(attempted))  # type: ignore[arg-type]
    return [wrong.message for wrong in error.value.fields]


@pytest.mark.promise("entities, details: an error of a deletion counts at most 100 rows that refer to the row")
@pytest.mark.parametrize(
    ("number", "told"),
    [(1, "1"), (MOST_COUNTED, "100"), (MOST_COUNTED + 1, "more than 100"), (350, "more than 100")],
)
async def test_a_refused_deletion_counts_no_more_than_a_hundred_rows(desk: Desk, number: int, told: str) -> None:
    volumes = [(await desk.create("volumes", title="T")).id for _ in range(2)]
    await add(desk, "marks", number, other_id=volumes[0])
    await add(desk, "marks", 2, other_id=volumes[1])
    assert await refusal(desk, "volumes", *volumes) == [
        f"Rows still refer to it: marks ({told}).",
        "Rows still refer to it: marks (2).",
    ]


@pytest.mark.parametrize("fields", [("genre_id",), ("genre_id", "after_id")])
async def test_many_rows_of_other_tenants_do_not_hide_the_own_ones(desk: Desk, fields: tuple[str, ...]) -> None:
    genre, other = [(await desk.create("genres", name=name)).id for name in "GH"]
    await add(desk, "picks", 300, THERE, genre_id=genre, after_id=genre)
    await add(desk, "picks", 2, HERE, **dict.fromkeys(fields, genre))
    await add(desk, "picks", 101, THERE, genre_id=other)
    told = await refusal(desk, "genres", genre, other)
    assert told == ["Rows still refer to it: picks (2).", "Something still refers to it."]
