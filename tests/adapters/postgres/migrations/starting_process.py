"""A process that starts on a database: ``python -m … URL``; it waits for a line, migrates and makes the first admin."""

import asyncio
import sys

from adapters.memory.identity.passwords import MemoryPasswords
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.migrations.migrate import upgrade
from adapters.system import SystemClock, Uuid7Ids
from application.identity.passwords.password_rules import PasswordRules
from application.operations.first_start import FirstStart
from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.registry import build_registry


async def main(url: str) -> None:
    registry = build_registry([*ENTITIES, *BUILTIN_ENTITIES])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    assert await upgrade(url, registry) == []
    database = PostgresDatabase(url, registry, Uuid7Ids(), connections=1)
    await database.open()
    start = FirstStart(database, MemoryPasswords(), PasswordRules((), None), SystemClock(), Uuid7Ids())
    made = await start.prepare("admin@example.com", None)
    assert await database.is_ready()
    await database.close()
    sys.stdout.write("made" if made is not None else "found")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
