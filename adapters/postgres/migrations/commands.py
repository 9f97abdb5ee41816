"""Commands of advanced-alchemy on one locked connection, over several folders of migrations."""

import asyncio
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from traceback import extract_tb
from typing import Generic, TypeVar

import asyncpg
from advanced_alchemy.alembic.commands import AlembicCommands
from advanced_alchemy.config import AlembicAsyncConfig, SQLAlchemyAsyncConfig
from alembic.config import Config
from alembic.script.revision import ResolutionError
from alembic.util.exc import CommandError
from msgspec import Struct
from sqlalchemy import Connection, MetaData, bindparam, func, select, text
from sqlalchemy.exc import SAWarning
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.driver_errors import causes, unwrapped
from adapters.postgres.connection.failures import AWAY, translated
from adapters.postgres.migrations.online.operations import ONLINE
from adapters.postgres.migrations.pending import MigrationRefused, unknown_sentence
from adapters.postgres.schema.row_security import EVERY

T = TypeVar("T")

BIND_KEY = "tenantry"
"""Name of the tables among those that advanced-alchemy knows: a user's own tables have the default one."""

# Others wait behind a statement that waits for a lock: only so long, and then all that was locked is given back.
_LIMIT_WAITING = select(func.set_config("lock_timeout", bindparam("milliseconds"), bindparam("is_local")))
# Tried, and not waited for: a statement that waits has a snapshot, for whose end CREATE INDEX CONCURRENTLY would wait.
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('tenantry.migrations', 0))"
_LOCK_PAUSE = 0.05


class LockPatience(Struct, frozen=True):
    """Waiting of a command for tables that others use: ``seconds`` for a lock, then a pause, ``tries`` times."""

    seconds: float = 2.0
    pause: float = 1.0
    tries: int = 30


EDIT = (
    "Edit the file and run: tenantry migrate. To take back a file that is applied nowhere, run: tenantry migrations"
    " discard"
)
_IN_USE = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


class TableInUse(Exception):
    """Lock that a migration did not get in time; the message is the place in its file, and what was changed."""


class CommandOutcome(Struct, Generic[T], frozen=True):
    """Result of a command: its return value, the lines that it printed, and notes of autogenerate."""

    value: T
    lines: list[str]
    notes: tuple[str, ...]


async def run_command(
    url: str,
    metadata: MetaData,
    folders: Sequence[Path],
    command: Callable[[AlembicCommands], T],
    *,
    commits: bool = True,
) -> CommandOutcome[T]:
    """Runs ``command`` in one transaction, under a lock that other processes wait for.

    >>> await run_command(url, metadata, folders, lambda commands: commands.upgrade("heads"))

    Raises MigrationRefused.
    """

    def run(commands: AlembicCommands, connection: Connection) -> T:
        value = command(commands)
        # Alembic makes its table of versions for commands that only read, too: without a commit it is gone again
        if commits:
            connection.commit()
        return value

    return await _run(url, metadata, folders, run)


async def _run(
    url: str, metadata: MetaData, folders: Sequence[Path], run: Callable[[AlembicCommands, Connection], T]
) -> CommandOutcome[T]:
    engine = create_async_engine(
        "postgresql+asyncpg://",
        # row-level security holds the owner of the tables too: without a scope, a migration would see and change no row
        async_creator=lambda: connect(url, timeout=5, server_settings={"tenantry.scope": EVERY}),
        poolclass=NullPool,
    )
    try:
        with translated(), unwrapped():
            return await _run_locked(engine, _commands(engine, metadata, folders), run)
    except CommandError as error:
        raise MigrationRefused(_reason(error)) from error
    finally:
        await engine.dispose()


async def apply_command(
    url: str,
    metadata: MetaData,
    folders: Sequence[Path],
    command: Callable[[AlembicCommands, Connection, Callable[[bool], None]], T],
    patience: LockPatience,
) -> CommandOutcome[T]:
    """Runs ``command`` under the same lock, again from its start while tables are in use.

    A command that changes something commits; before each statement that may wait for a table it limits the waiting, of
    the transaction or of the whole session. Between two tries nothing is locked, so that the service goes on. Raises
    MigrationRefused after the last.
    """

    def run(commands: AlembicCommands, connection: Connection) -> T:
        def limit_waiting(is_of_session: bool) -> None:
            limit = {"milliseconds": str(round(patience.seconds * 1000)), "is_local": not is_of_session}
            connection.execute(_LIMIT_WAITING, limit)

        return command(commands, connection, limit_waiting)

    for attempt in range(1, patience.tries + 1):
        try:
            return await _run(url, metadata, folders, run)
        except TableInUse as error:
            if attempt == patience.tries:
                raise MigrationRefused(_in_use(str(error), patience)) from error
        await asyncio.sleep(patience.pause)
    raise AssertionError


def _in_use(place: str, patience: LockPatience) -> str:
    return (
        f"{place}: others use the table, and {patience.tries} times it was "
        f"not free within {patience.seconds:g} seconds. Run tenantry migrate again in a quieter moment, or when the "
        "long transactions have ended, which the view pg_stat_activity shows by their xact_start."
    )


async def _run_locked(
    engine: AsyncEngine, commands: AlembicCommands, run: Callable[[AlembicCommands, Connection], T]
) -> CommandOutcome[T]:
    config = commands.config
    config.stdout = printed = StringIO()

    def run_named(connection: Connection) -> T:
        config.attributes["connection"] = connection
        with named_file(config), warnings.catch_warnings():
            # SQLAlchemy passes the options of a check that is not validated on under a name that it does not know
            warnings.filterwarnings("ignore", "Can't validate argument 'dialect_options'", SAWarning)
            return run(commands, connection)

    # the lock is one of the session, and ends with the connection
    async with engine.connect() as connection:
        while not (await connection.execute(text(_LOCK))).scalar_one():
            await connection.rollback()
            await asyncio.sleep(_LOCK_PAUSE)
        await connection.rollback()
        value = await connection.run_sync(run_named)
    return CommandOutcome(value, printed.getvalue().splitlines(), tuple(config.attributes["notes"]))


def _commands(engine: AsyncEngine, metadata: MetaData, folders: Sequence[Path]) -> AlembicCommands:
    alembic = AlembicAsyncConfig(script_location=_escaped(Path(__file__).parent), version_table_name="alembic_version")
    commands = AlembicCommands(
        SQLAlchemyAsyncConfig(engine_instance=engine, bind_key=BIND_KEY, metadata=metadata, alembic_config=alembic)
    )
    # env.py takes the tables from here: advanced-alchemy's registry holds one MetaData for a key, and commands of two
    # registries of entities can run in one process at the same time
    commands.config.attributes.update(metadata=metadata, notes=[])
    commands.config.set_main_option("path_separator", "newline")
    commands.config.set_main_option("version_locations", "\n".join(map(_escaped, folders)))
    commands.config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    return commands


@contextmanager
def named_file(config: Config) -> Iterator[None]:
    """Names the file of a migration that fails, and the line; losing the database is no fault of a file."""
    try:
        yield
    except (MigrationRefused, CommandError):
        raise
    except Exception as error:
        folders = config.get_main_option("version_locations", "").splitlines()
        place = _place(error, [Path(folder.replace("%%", "%")) for folder in folders])
        behind = list(causes(error))
        if any(isinstance(cause, _IN_USE) for cause in behind):
            raise TableInUse(f"{place or 'A migration'} cannot be applied, {_left(config)}") from error
        if place is None or any(isinstance(cause, (*AWAY, asyncpg.TransactionRollbackError)) for cause in behind):
            raise
        said = next((cause for cause in behind if isinstance(cause, asyncpg.PostgresError)), error)
        # PostgreSQL puts the detail on a line of its own
        sentence = " ".join(str(said).split())
        # the file is right where the owner lacks a right: a role's hint has the statement that grants it
        way_out = "Then run: tenantry migrate" if isinstance(said, asyncpg.InsufficientPrivilegeError) else EDIT
        raise MigrationRefused(f"{place} cannot be applied, {_left(config)}: {sentence}. {way_out}") from error


def _left(config: Config) -> str:
    """Changes that a failed file leaves: statements beside reads and writes stay as far as they came."""
    is_online = config.attributes.get(ONLINE)
    return "and begins anew the next time" if is_online else "and nothing was changed"


def _place(error: Exception, folders: Sequence[Path]) -> str | None:
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).parent in folders:
        return f"{error.filename}, line {error.lineno},"
    frames = [frame for frame in extract_tb(error.__traceback__) if Path(frame.filename).parent in folders]
    return f"{frames[-1].filename}, line {frames[-1].lineno}," if frames else None


def _reason(error: CommandError) -> str:
    cause = error.__cause__
    if isinstance(cause, ResolutionError):
        return unknown_sentence([str(cause.argument)])
    return f"{error}."


def _escaped(folder: Path) -> str:
    return str(folder).replace("%", "%%")
