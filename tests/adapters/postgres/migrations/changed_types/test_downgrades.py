"""Downgrades of changed types: each pair of kinds goes back, or the message names the value and the column."""

from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import permutations
from typing import Annotated, Any
from uuid import UUID

import pytest

from adapters.postgres.migrations.inspection import differences
from adapters.postgres.migrations.migrate import WrittenMigration, downgrade
from adapters.postgres.migrations.pending import MigrationRefused
from domain.entities.kinds import Kind
from domain.entities.markers import money
from tests.adapters.postgres.migrations.changed_books import Books, declared, fill_in
from tests.adapters.postgres.migrations.drawn_declarations import SHAPES, Shape
from tests.servers.databases import named


def kind_of(shape: Shape) -> Kind:
    return declared([("x", shape.type)])["books"].by_name["x"].kind


ONE_OF_EACH = {kind_of(shape): shape for shape in SHAPES if not shape.target}
PAIRS = list(permutations(ONE_OF_EACH.values(), 2))
MIDNIGHT = datetime(2026, 1, 2, tzinfo=UTC)
RETURNING: dict[tuple[str, str], Any] = {
    ("boolean", "integer"): True,
    ("boolean", "bigint"): False,
    ("boolean", "numeric(22,0)"): True,
    ("boolean", "double precision"): True,
    ("integer", "boolean"): 1,
    ("double precision", "integer"): 7.0,
    ("timestamptz", "date"): MIDNIGHT,
    ("date", "timestamptz"): date(2026, 1, 2),
    ("text", "integer"): "7",
    ("text", "uuid"): str(UUID(int=5)),
    ("text", "boolean"): "true",
    ("text", "text[]"): "{a,b}",
    ("text[]", "uuid[]"): [str(UUID(int=5))],
    ("uuid[]", "text[]"): [UUID(int=5)],
}
"""Values that survive the changed type, with the expression of the file's note; to text, each value does."""


def value_of(before: Shape, after: Shape) -> Any:
    return before.values[0] if after.is_text else RETURNING.get((before.sql, after.sql))


def follow(written: WrittenMigration) -> None:
    """Replaces each call of ``fill_in`` by the expression of its note."""
    for note in written.notes:
        _, _, advice = note.partition("such as ")
        fill_in(written.path, advice[: advice.rindex(", which may")])


@pytest.mark.promise(
    "migrations, workflow: the downgrade of a changed type converts the values back, for each pair of kinds"
)
async def test_each_pair_of_kinds_is_converted_and_back(books: Books) -> None:
    """All at once: each pair is a field, ``x0``, ``x1`` and so on."""
    before, after = (
        declared([(f"x{n}", pair[place].type | None, None) for n, pair in enumerate(PAIRS)]) for place in (0, 1)
    )
    # links have a junction table in place of a column
    assert set(ONE_OF_EACH) == set(Kind) - {Kind.LINKS}
    await books.start(before)
    row = {f"x{n}": value_of(*pair) for n, pair in enumerate(PAIRS)}
    await books.add(row, dict.fromkeys(row))
    # the same result wherever the operator's session is
    await books.ask(f"ALTER DATABASE \"{named(books.url)}\" SET timezone TO 'Asia/Tokyo'")
    written = await books.write(after)
    follow(written)
    await books.apply(after)
    assert await differences(books.url, after, books.folders) == []
    await downgrade(books.url, after, books.folders)
    stored = await books.ask(f"SELECT {', '.join(row)} FROM books ORDER BY x0 NULLS LAST")
    back = dict(zip(row, stored[0], strict=True))
    changed = {PAIRS[int(name[1:])]: value for name, value in back.items() if value != row[name]}
    assert changed == {}
    assert set(stored[1]) == {None}
    written.path.unlink()
    assert await differences(books.url, before, books.folders) == []


REFUSED: list[tuple[object, object, str, str, str]] = [
    (bool, str, "maybe", "true", 'invalid input syntax for type boolean: "maybe"'),
    (int, str, "seven", "7", 'invalid input syntax for type integer: "seven"'),
    (UUID, str, "none", str(UUID(int=5)), 'invalid input syntax for type uuid: "none"'),
    (date, str, "2026-02-30", "2026-02-28", 'date/time field value out of range: "2026-02-30"'),
    (Annotated[Decimal, money(8, 2)], str, "1,5", "1.5", 'invalid input syntax for type numeric: "1,5"'),
    (list[str], str, "a", "{a}", 'malformed array literal: "a"'),
    (float, str, "many", "1e300", 'invalid input syntax for type double precision: "many"'),
]
"""Kinds before and after; a text that only the later one can store, one that both can, and PostgreSQL's message."""


@pytest.mark.promise(
    "migrations, workflow: a downgrade that cannot convert a value names it, its column, its file and the next command"
)
async def test_a_downgrade_names_a_value_that_it_cannot_convert(books: Books) -> None:
    names = [f"x{n}" for n in range(len(REFUSED))]
    types = dict(zip(names, REFUSED, strict=True))
    await books.start(declared([(name, case[0]) for name, case in types.items()]))
    changed = declared([(name, case[1]) for name, case in types.items()])
    written = await books.write(changed)
    follow(written)
    await books.apply(changed)
    await books.add({name: case[2] for name, case in types.items()})
    # A downgrade runs the operations in reverse.
    for name, (*_, mended, message) in reversed(types.items()):
        with pytest.raises(MigrationRefused, match=r"line \d+, cannot be undone, and nothing was changed: ") as refused:
            await downgrade(books.url, changed, books.folders)
        said = str(refused.value)
        assert message in said
        assert f"ALTER TABLE books ALTER COLUMN {name} TYPE" in said
        assert said.endswith("Edit downgrade() in the file and run: tenantry migrations downgrade")
        await books.ask(f"UPDATE books SET {name} = $1", mended)
    assert await downgrade(books.url, changed, books.folders) == [written.path]
    assert await books.ask("SELECT x0, x1 FROM books") == [(True, 7)]


SEARCHED: list[tuple[list[str], list[str]]] = [
    (["x", "rest"], ["rest"]),
    (["x"], []),
    (["x", "rest"], ["y"]),
    (["rest"], ["rest", "y"]),
]
"""Fields of the search before and after: ``x`` is a text that becomes a number, ``y`` a number that becomes a text."""


@pytest.mark.promise("migrations, common changes: a searched text gets another type, and gets it back in a downgrade")
@pytest.mark.parametrize(("before", "after"), SEARCHED)
async def test_a_searched_text_gets_another_type(books: Books, before: list[str], after: list[str]) -> None:
    first = declared([("x", str), ("y", int), ("rest", str)], search=before)
    later = declared([("x", int), ("y", str), ("rest", str)], search=after)
    await books.start(first)
    await books.add({"x": "7", "y": 8, "rest": "a"})
    written = await books.write(later)
    follow(written)
    await books.apply(later)
    assert await books.ask("SELECT x, y FROM books") == [(7, "8")]
    assert await differences(books.url, later, books.folders) == []
    await downgrade(books.url, later, books.folders)
    assert await books.ask("SELECT x, y FROM books") == [("7", 8)]
    for path in books.folder.glob("*.py"):
        path.unlink()
    assert await differences(books.url, first, books.folders) == []
