"""Dumps a database into a file, and restores it: all of it, or nothing is changed."""

import asyncio
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import asyncpg
from msgspec import Struct

from adapters.postgres.backup.programs import ended, fitting_program
from adapters.postgres.backup.replaced_objects import Left, delete_aside, left_by_restore, put_back, set_aside
from adapters.postgres.connection.connecting import connected
from adapters.postgres.schema.row_security import EVERY, MAKE_ROLE
from adapters.postgres.schema.search import MAKE_SEARCH

SAID = 5
"""Last lines of a program that failed, which name the reason."""
_FACTS = """
SELECT current_setting('server_version_num')::int / 10000 AS major,
    (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS sees_everything,
    (SELECT count(*) FROM pg_class c WHERE relnamespace = to_regnamespace('public')::oid
        AND relkind IN ('r', 'p', 'v', 'm', 'S', 'f')) AS relations,
    (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND application_name = 'tenantry') AS services"""
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('tenantry.restore', 0))"
_PROGRAMS = """
SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pg_restore')"""
_END_PROGRAMS = """
SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'pg_restore'"""
_NO_SEARCH = "DROP SCHEMA IF EXISTS tenantry_search CASCADE"

# --no-owner gives all that is restored to whoever restores. Functions of searches run with the rights of their owner,
# which has to be the role that row-level security does not keep from an index, and that has no other rights.
_SEARCH_OWNED = """
DO $$
DECLARE
    "the function" regprocedure;
BEGIN
    IF to_regnamespace('tenantry_search') IS NULL THEN
        RETURN;
    END IF;
    ALTER SCHEMA tenantry_search OWNER TO tenantry_search;
    FOR "the function" IN SELECT oid FROM pg_proc WHERE pronamespace = 'tenantry_search'::regnamespace LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO tenantry_search', "the function");
    END LOOP;
END
$$"""

Tell = Callable[[str], None]


class DumpFailed(Exception):
    """A program of PostgreSQL ended with an error; the message is its own."""


class RestoreAtWork(Exception):
    """Another restore works with the database, or the program of one that was killed."""


class RestoreLeft(Exception):
    """Leavings of a restore that the work does not fit."""

    def __init__(self, left: Left) -> None:
        super().__init__(left.sentence)
        self.left = left


class DumpedDatabase(Struct, frozen=True):
    """Facts of a database before it is dumped, or a dump is restored into it.

    ``relations`` counts the tables and the like, ``services`` the connections of a running service. ``left`` is what a
    restore that was broken off has left.
    """

    major: int
    sees_everything: bool
    relations: int
    services: int
    left: Left


async def dumped_database(owner_url: str) -> DumpedDatabase:
    """Raises ServiceUnavailable while the database is away."""
    async with connected(owner_url) as connection:
        row = await connection.fetchrow(_FACTS)
        left = await left_by_restore(connection)
    assert row is not None
    return DumpedDatabase(**dict(row), left=left)


async def dump(owner_url: str, file: Path, folders: Sequence[Path], tell: Tell) -> None:
    """Writes all tables with their rows, as of one moment. Raises DumpFailed and NoProgram."""
    facts = await dumped_database(owner_url)
    program = await fitting_program("pg_dump", facts.major, folders)
    options = ["--format=custom", "--verbose", f"--file={file}"]
    if not facts.sees_everything:
        # Row-level security holds an owner without rights of its own, too: with this scope it sees every row.
        options.append("--enable-row-security")
    await _run(program, options, owner_url, tell)


async def restore(owner_url: str, file: Path, folders: Sequence[Path], tell: Tell) -> None:
    """Restores into an empty database, in one transaction. Raises DumpFailed and NoProgram."""
    facts = await dumped_database(owner_url)
    program = await fitting_program("pg_restore", facts.major, folders)
    async with connected(owner_url) as connection:
        await connection.execute(MAKE_ROLE)  # the tables are granted to it
        await connection.execute(MAKE_SEARCH)  # policies name its role
        await connection.execute(_NO_SEARCH)  # the dump makes the schema itself
    # comments are those of extensions, which belong to a superuser
    options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-comments", "--verbose"]
    if not facts.sees_everything:
        options.append("--enable-row-security")
    await _run(program, [*options, str(file)], owner_url, tell)
    async with connected(owner_url) as connection:
        await connection.execute(_SEARCH_OWNED)


@asynccontextmanager
async def replacing(owner_url: str) -> AsyncIterator[None]:
    """An empty database inside the block; what was there is deleted after it, and is back when the block fails.

    Steps are transactions, so that one who is killed between them leaves the old or the new: ``Left`` tells which.
    Raises RestoreLeft and RestoreAtWork.
    """
    async with _restoring(owner_url) as connection:
        left = await left_by_restore(connection)
        if left is Left.FILLED:
            raise RestoreLeft(left)
        if left is Left.EMPTY:
            await put_back(connection)
        await set_aside(connection)
        try:
            yield
        except BaseException:
            # a program that was ended may leave its session to the server, which commits or not
            await connection.execute(_END_PROGRAMS)
            await put_back(connection)
            raise
        try:
            await delete_aside(connection)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            # the backup is in its place: whoever is told to end now ends with it whole
            await delete_aside(connection)
            raise


async def undo(owner_url: str) -> None:
    """Puts back what a restore that was broken off had set aside. Raises RestoreLeft and RestoreAtWork."""
    async with _restoring(owner_url) as connection:
        left = await left_by_restore(connection)
        if left is Left.NOTHING:
            raise RestoreLeft(left)
        await put_back(connection)


async def finish(owner_url: str) -> None:
    """Deletes what a restore has set aside whose backup is in its place. Raises RestoreLeft and RestoreAtWork."""
    async with _restoring(owner_url) as connection:
        left = await left_by_restore(connection)
        if left is not Left.FILLED:
            raise RestoreLeft(left)
        async with connection.transaction():
            await connection.execute(_SEARCH_OWNED)
            await delete_aside(connection)


@asynccontextmanager
async def _restoring(owner_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """A connection of the only restore that moves what is there. Raises RestoreAtWork."""
    async with connected(owner_url) as connection:
        # the lock is one of the session: it ends with a command that is killed, whose pg_restore may go on for a while
        if not await connection.fetchval(_LOCK) or await connection.fetchval(_PROGRAMS):
            raise RestoreAtWork
        yield connection


async def _run(program: Path, options: Sequence[str], url: str, tell: Tell) -> None:
    target, password = without_password(url)
    # Command lines are readable for every user of the machine.
    environment = {**os.environ, "PGOPTIONS": f"-c tenantry.scope={EVERY}", "PGAPPNAME": program.name}
    if password:
        environment["PGPASSWORD"] = password
    process = await asyncio.create_subprocess_exec(
        program,
        f"--dbname={target}",
        *options,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    last: deque[str] = deque(maxlen=SAID)
    async with ended(process):
        async for line in process.stderr:
            last.append(line.decode(errors="replace").rstrip())
            tell(last[-1].partition(": ")[2])
        if await process.wait():
            raise DumpFailed("\n".join(last))


def without_password(url: str) -> tuple[str, str]:
    """The URL as a command line may show it, and the password that stood in it."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    given = dict(query).get("password", "")
    user, at, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    kept = urlencode([(key, value) for key, value in query if key != "password"], safe="/")
    # urlunsplit() leaves out the slashes of a URL without a host, which libpq asks for
    url_without = f"{parts.scheme}://{name}{at}{host}{parts.path}{'?' if kept else ''}{kept}"
    return url_without, unquote(password) or given
