"""Dumps and restores of a database. A restore is atomic."""

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
"""Last output lines of a failed program, which name the reason."""
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

# --no-owner assigns restored objects to the restoring role. Search functions run as their owner, so the owner must be
# the role without other rights that row-level security allows to use an index.
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
# Positions continue from those of the backup, so cursors of the replaced log would name other entries. A backup of an
# older version has no log.
_NEW_EPOCH = """
DO $$
BEGIN
    IF to_regclass('public.service_epoch') IS NOT NULL THEN
        UPDATE service_epoch SET epoch = gen_random_uuid();
    END IF;
END
$$"""

Tell = Callable[[str], None]


class DumpFailed(Exception):
    """A PostgreSQL program failed; the message is the program's."""


class RestoreAtWork(Exception):
    """Another restore is running on this database, or pg_restore of a killed restore is."""


class RestoreLeft(Exception):
    """State left by an interrupted restore that conflicts with the requested operation."""

    def __init__(self, left: Left) -> None:
        super().__init__(left.sentence)
        self.left = left


class DumpedDatabase(Struct, frozen=True):
    """Facts of a database before a dump or a restore.

    ``relations`` counts tables and similar objects, ``services`` the connections of a running service. ``left`` is the
    remainder of an interrupted restore.
    """

    major: int
    sees_everything: bool
    relations: int
    services: int
    left: Left


async def dumped_database(owner_url: str) -> DumpedDatabase:
    """Return the facts of the database. Raises ServiceUnavailable if the database is unavailable."""
    async with connected(owner_url) as connection:
        row = await connection.fetchrow(_FACTS)
        left = await left_by_restore(connection)
    assert row is not None
    return DumpedDatabase(**dict(row), left=left)


async def dump(owner_url: str, file: Path, folders: Sequence[Path], tell: Tell) -> None:
    """Write all tables with their rows, in one snapshot. Raises DumpFailed and NoProgram."""
    facts = await dumped_database(owner_url)
    program = await fitting_program("pg_dump", facts.major, folders)
    options = ["--format=custom", "--verbose", f"--file={file}"]
    if not facts.sees_everything:
        # Row-level security also applies to an unprivileged owner, and this scope shows every row.
        options.append("--enable-row-security")
    await _run(program, options, owner_url, tell)


async def restore(owner_url: str, file: Path, folders: Sequence[Path], tell: Tell) -> None:
    """Restore into an empty database, in one transaction. Raises DumpFailed and NoProgram."""
    facts = await dumped_database(owner_url)
    program = await fitting_program("pg_restore", facts.major, folders)
    async with connected(owner_url) as connection:
        await connection.execute(MAKE_ROLE)  # the dump grants the tables to this role
        await connection.execute(MAKE_SEARCH)  # policies name the role of the search
        await connection.execute(_NO_SEARCH)  # the dump creates this schema
    # Comments belong to extensions, owned by a superuser.
    options = ["--single-transaction", "--exit-on-error", "--no-owner", "--no-comments", "--verbose"]
    if not facts.sees_everything:
        options.append("--enable-row-security")
    await _run(program, [*options, str(file)], owner_url, tell)
    async with connected(owner_url) as connection:
        await connection.execute(_SEARCH_OWNED)
        await connection.execute(_NEW_EPOCH)


@asynccontextmanager
async def replacing(owner_url: str) -> AsyncIterator[None]:
    """Yield an empty database. After the block, delete the old objects, or put them back if the block fails.

    A killed process leaves the old or the new database: see ``Left``. Raises RestoreLeft and RestoreAtWork.
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
            # A killed program may leave its session running, so end the session.
            await connection.execute(_END_PROGRAMS)
            await put_back(connection)
            raise
        try:
            await delete_aside(connection)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            # The restore is complete, so delete the old objects even if the command is cancelled.
            await delete_aside(connection)
            raise


async def undo(owner_url: str) -> None:
    """Put back the old objects after an interrupted restore. Raises RestoreLeft and RestoreAtWork."""
    async with _restoring(owner_url) as connection:
        left = await left_by_restore(connection)
        if left is Left.NOTHING:
            raise RestoreLeft(left)
        await put_back(connection)


async def finish(owner_url: str) -> None:
    """Delete the old objects after a complete restore. Raises RestoreLeft and RestoreAtWork."""
    async with _restoring(owner_url) as connection:
        left = await left_by_restore(connection)
        if left is not Left.FILLED:
            raise RestoreLeft(left)
        async with connection.transaction():
            await connection.execute(_SEARCH_OWNED)
            await connection.execute(_NEW_EPOCH)
            await delete_aside(connection)


@asynccontextmanager
async def _restoring(owner_url: str) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """Yield the connection of the only restore. Raises RestoreAtWork."""
    async with connected(owner_url) as connection:
        # The session lock ends with a killed command, but pg_restore may continue.
        if not await connection.fetchval(_LOCK) or await connection.fetchval(_PROGRAMS):
            raise RestoreAtWork
        yield connection


async def _run(program: Path, options: Sequence[str], url: str, tell: Tell) -> None:
    target, password = without_password(url)
    # Security: pass the password in the environment, because all users of the machine can read command lines.
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
    """Return the URL without its password, for a command line, and the password."""
    parts = urlsplit(url)
    query = parse_qsl(parts.query, keep_blank_values=True)
    given = dict(query).get("password", "")
    user, at, host = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    kept = urlencode([(key, value) for key, value in query if key != "password"], safe="/")
    # urlunsplit() omits the slashes that libpq needs in a URL without a host.
    url_without = f"{parts.scheme}://{name}{at}{host}{parts.path}{'?' if kept else ''}{kept}"
    return url_without, unquote(password) or given
