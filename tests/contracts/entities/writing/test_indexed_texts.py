"""Records: the longest texts and lists that bodies take are stored, whatever indexes hold them."""

from collections.abc import AsyncIterator
from pathlib import Path
from random import Random
from string import ascii_letters, digits
from typing import Annotated
from uuid import UUID

import pytest
from msgspec import Meta, Struct

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade, write_migration
from adapters.postgres.migrations.pending import VERSIONS
from application.ports.entities.records import NewRow
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.exact_values import indexed_room
from domain.entities.forms import read_changes, read_new
from domain.entities.markers import big, entity, index, unique
from domain.entities.registry import build_registry
from domain.errors import ValidationError
from domain.scope import OneTenant
from tests.builders import new_id
from tests.conftest import NewDatabase
from tests.contracts.entities.writing.test_records_writing import ACT


@entity(
    "scrolls",
    unique=[
        unique("alone"),
        unique("folded", ignore_case=True),
        unique("first", "second", "number"),
        unique("site", "path"),
        unique("words"),
        unique("ids"),
    ],
    indexes=[index("found", "number")],
    sort="-ordered",
)
class Scroll(Struct, rename="camel", kw_only=True):
    alone: str = ""
    folded: str = ""
    first: str = ""
    second: str | None = None
    site: Annotated[str, Meta(max_length=100)] = ""
    path: Annotated[str, Meta(max_length=2_000)] = ""
    number: Annotated[int, big] = 0
    words: list[str] = []
    found: str = ""
    ids: list[UUID] = []
    ordered: str = ""
    free: str = ""


SCROLLS = build_registry([*BUILTIN_ENTITIES, *ENTITIES, Scroll])
MODEL = SCROLLS["scrolls"]
LONGEST = {
    "alone": 2_600,
    "folded": 2_600,
    "first": 1_288,
    "second": 1_288,
    "site": 400,
    "path": 2_200,
    "words": 2_600,
    "found": 2_576,
    "ids": 7_150,
    "ordered": 2_600,
}


@pytest.fixture
async def database(new_database: NewDatabase, tmp_path: Path) -> AsyncIterator[PostgresDatabase]:
    url = await new_database()
    assert await write_migration(url, SCROLLS, "scrolls", (VERSIONS, tmp_path)) is not None
    assert await upgrade(url, SCROLLS, (VERSIONS, tmp_path)) == []
    made = PostgresDatabase(url, SCROLLS, CountingIds())
    await made.open()
    yield made
    await made.close()


def text(size: int) -> str:
    """A text that no compression makes shorter."""
    return "".join(Random(size).choices(ascii_letters + digits, k=size))


def longest_body() -> dict[str, object]:
    words = [text(size) for size in range(90, 113)]
    lists: dict[str, object] = {"words": words, "ids": [str(new_id()) for _ in range(7_150 // 44)]}
    bounded = {"site": "💧" * 100, "path": text(1_996) + "💧"}
    texts = {name: text(most) for name, most in LONGEST.items() if name not in {**lists, **bounded}}
    # folded to three bytes each
    return {**texts, **lists, **bounded, "folded": text(2_597) + "Ⱥ", "free": text(100_000)}


def test_each_text_and_list_of_an_index_has_its_share_of_the_room() -> None:
    assert indexed_room(MODEL) == LONGEST


@pytest.mark.promise(
    "declarations, checks: a text or list that no index could hold is an error of its field, and the longest that is "
    "taken is stored"
)
async def test_the_longest_text_that_bodies_accept_is_stored(database: PostgresDatabase) -> None:
    async with database.transaction(OneTenant(new_id())) as tx:
        assert await tx.records.add(MODEL, [NewRow(new_id(), read_new(MODEL, longest_body()))], ACT)


@pytest.mark.promise(
    "declarations, checks: a text or list that no index could hold is an error of its field, and the longest that is "
    "taken is stored"
)
@pytest.mark.parametrize("name", [name for name in LONGEST if name != "site"])  # whose length ends it first
def test_what_is_longer_is_an_error_of_its_field(name: str) -> None:
    longer: dict[str, object] = {
        "words": [text(100)] * 25,
        "ids": [str(new_id())] * 163,
        # bytes are counted, and not characters; those of the lower case where there are more
        "alone": "é" * 1_301,
        "folded": text(2_598) + "Ⱥ",
        "path": "é" * 1_101,
    }
    told = "fewer or shorter items" if name in ("words", "ids") else "bytes in UTF-8"
    value = longer.get(name, text(LONGEST[name] + 1))
    for read in (read_new, read_changes):
        with pytest.raises(ValidationError) as caught:
            read(MODEL, {name: value})
        assert [(error.field, told in error.message) for error in caught.value.fields] == [(name, True)]
