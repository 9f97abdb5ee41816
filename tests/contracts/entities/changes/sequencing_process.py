"""A process that gives positions to the entries of the database of its argument until it is killed."""

import asyncio
import sys

from adapters.memory.clock import CountingIds
from adapters.memory.wakes import MemoryWakes
from adapters.postgres.database import PostgresDatabase
from application.entities.changes.sequencing import Sequencer
from tests.contracts.entities.changes.followed_entities import REGISTRY


async def main(url: str) -> None:
    database = PostgresDatabase(url, REGISTRY, CountingIds(), connections=2)
    await database.open()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        if not await Sequencer(database, MemoryWakes()).sequence():
            await asyncio.sleep(0.01)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
