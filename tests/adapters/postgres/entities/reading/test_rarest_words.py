"""Searches for several words: the index is asked for the rarest, as the server counts the calls of its functions."""

from dataclasses import dataclass

import asyncpg
import pytest

from adapters.memory.clock import CountingIds
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.reading.narrowing import SearchLimits
from domain.entities.declaration import Registry
from tests.adapters.postgres.entities.reading.test_search_index import HERE, asked, calls, names_on, stored
from tests.servers.databases import named


@dataclass
class Counted:
    """A database whose calls of search functions the server counts, with small limits."""

    plain: PostgresDatabase
    url: str
    owner: "asyncpg.Connection[asyncpg.Record]"

    async def asked(self, registry: Registry, parameters: str) -> tuple[list[str], int]:
        """The names found, and how many functions were called."""
        limits, before = SearchLimits(sampled=4, frequent=2, most=3), await calls(self.owner)
        database = PostgresDatabase(self.url, registry, CountingIds(), connections=1, search_limits=limits)
        await database.open()
        try:
            names = names_on(await asked(database, HERE, registry, parameters))
        finally:
            # The server counts the calls of a connection at the latest when it ends.
            await database.close()
        return names, await calls(self.owner) - before


@pytest.fixture
async def counted(
    postgres: PostgresDatabase, database_url: str, owner: "asyncpg.Connection[asyncpg.Record]"
) -> Counted:
    await owner.execute(f"ALTER DATABASE {named(database_url)} SET track_functions = 'all'")
    return Counted(postgres, database_url, owner)


@pytest.mark.promise("entities, contract: search")
@pytest.mark.parametrize(
    ("parameters", "names", "called"),
    [
        ("search=zzzz number", [], 3),
        ("search=number zzzz shelf", [], 3),
        ("search=some words of number zzzz", [], 3),
        ("search=number 0001", ["number 0001 some words of a shelf"], 3),
        # The newest rows have neither of these words, and the longer one is frequent in older rows.
        ("search=number cabinet sofa", ["number sofa cabinet"], 6),
        ("name.contains=number&description.contains=zzzz", [], 1),
        ("search=number&sku.contains=zzzz", [], 1),
    ],
)
async def test_a_rare_word_is_looked_up_next_to_longer_frequent_words(
    counted: Counted, registry: Registry, parameters: str, names: list[str], called: int
) -> None:
    older = ["number sofa cabinet", *(f"number cabinet {n}" for n in range(5))]
    await stored(counted.plain, HERE, registry, *older, *(f"number 000{n} some words of a shelf" for n in range(4)))
    for further in ("", "&count=none"):
        assert await counted.asked(registry, parameters + further) == (names, called)


@pytest.mark.promise("entities, contract: search")
async def test_a_search_for_frequent_words_only_does_not_use_the_index(counted: Counted, registry: Registry) -> None:
    names = [f"number 000{n} some words" for n in range(6)]
    await stored(counted.plain, HERE, registry, *names)
    assert await counted.asked(registry, "search=words number 000&count=none") == (names[::-1], 0)
