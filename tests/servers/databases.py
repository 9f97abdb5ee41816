"""Databases that tests make for themselves."""

import asyncio
from collections.abc import Sequence
from urllib.parse import urlsplit, urlunsplit

import asyncpg

SOMEBODY_WAITS = """
SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE NOT granted AND pid IN (
        SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database WHERE datname = current_database()
    )
)
"""
"""Whether a connection to this database waits for a lock; in those of other tests somebody always may.

Locks of rows name no database, but who waits for one holds a lock of its table.
"""


def named(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def renamed(url: str, name: str) -> str:
    """The URL of another database on the same server."""
    parts = urlsplit(url)
    netloc = parts.netloc
    made = urlunsplit((parts.scheme, netloc, f"/{name}", parts.query, ""))
    return made if netloc else made.replace(":/", ":///", 1)


async def create_database(server: str, name: str, template: str | None = None, options: str | None = None) -> str:
    """``options`` are encoding and locale, which only a copy of ``template0`` may have otherwise.

    Commits do not wait for the disk, as each of many thousands would for 2 ms: nothing that they wrote is lost unless
    the server is killed, which is done to servers of a test's own alone.
    """
    source = f'TEMPLATE "{named(template)}"' if template else f"TEMPLATE template0 {options}" if options else ""
    await _run(server, f'CREATE DATABASE "{name}" {source}', f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    return renamed(server, name)


async def drop_database(url: str) -> None:
    await _run(url, f'DROP DATABASE IF EXISTS "{named(url)}" WITH (FORCE)')


async def drop_databases(urls: Sequence[str]) -> None:
    """Twenty at a time: each waits for a checkpoint of the server, and those that wait together share one.

    A checkpoint writes the files of all databases that are not being dropped, so that few at a time take far longer.
    """
    for place in range(0, len(urls), 20):
        await asyncio.gather(*map(drop_database, urls[place : place + 20]))


async def _run(server: str, *statements: str) -> None:
    connection = await asyncpg.connect(renamed(server, "postgres"))
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
