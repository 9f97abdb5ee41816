"""Advanced-alchemy's commands on one locked connection, over several migration folders."""

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
from sqlalchemy.exc import DBAPIError, SAWarning
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from adapters.postgres.connection.connecting import connect
from adapters.postgres.connection.driver_errors import causes, unwrapped
from adapters.postgres.connection.failures import AWAY, translated
from adapters.postgres.migrations.online.operations import ONLINE
from adapters.postgres.migrations.pending import MigrationRefused, unknown_sentence
from adapters.postgres.schema.citus import DONE, hold_foreign_keys_back
from adapters.postgres.schema.row_security import EVERY

T = TypeVar("T")

BIND_KEY = "tenantry"
"""Name of the service's tables in advanced-alchemy; a user's own tables have the default name."""

# Other statements queue behind a migration that waits for a lock, so limit its wait, and then release all locks.
_LIMIT_WAITING = select(func.set_config("lock_timeout", bindparam("milliseconds"), bindparam("is_local")))
# Try instead of waiting: a waiting statement has a snapshot, and CREATE INDEX CONCURRENTLY would wait for its end.
_LOCK = "SELECT pg_try_advisory_lock(hashtextextended('tenantry.migrations', 0))"
_HAS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL"
_LOCK_PAUSE = 0.05


class LockPatience(Struct, frozen=True):
    """Wait of a command for tables in use: ``seconds`` for a lock, then a pause, ``tries`` times."""

    seconds: float = 2.0
    pause: float = 1.0
    tries: int = 30


EDIT = (
    "Edit the file and run: tenantry migrate. To take back a file that is applied nowhere, run: tenantry migrations"
    " discard"
)
UNDOING = "undoing"
"""Key in Alembic's attributes: whether the command runs the downgrade of a file."""
_UNDO = "tenantry migrations downgrade"
_IN_USE = (asyncpg.LockNotAvailableError, asyncpg.DeadlockDetectedError)


class TableInUse(Exception):
    """A migration did not get a lock in time; the message has the place in its file, and the changes.

    ``command`` repeats it.
    """

    def __init__(self, message: str, command: str) -> None:
        super().__init__(message)
        self.command = command


class CommandOutcome(Struct, Generic[T], frozen=True):
    """Result of a command: its return value, printed lines, and notes of autogenerate."""

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
    """Run ``command`` in one transaction, under a lock that excludes other processes.

    >>> await run_command(url, metadata, folders, lambda commands: commands.upgrade("heads"))

    Raises MigrationRefused.
    """

    def run(commands: AlembicCommands, connection: Connection) -> T:
        value = command(commands)
        # Read-only commands of Alembic also create its version table; without a commit it disappears.
        if commits:
            connection.commit()
        return value

    return await _run(url, metadata, folders, run)


async def _run(
    url: str, metadata: MetaData, folders: Sequence[Path], run: Callable[[AlembicCommands, Connection], T]
) -> CommandOutcome[T]:
    engine = create_async_engine(
        "postgresql+asyncpg://",
        # Row-level security also applies to the tables' owner: without a scope, a migration would see no row.
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
    """Run ``command`` under the same lock as ``run_command``; if tables are in use, retry it from its start.

    A command that changes something commits itself. It limits each wait for a table, within the transaction or the
    session. Between attempts it holds no locks. Raises MigrationRefused after the last attempt.
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
                raise MigrationRefused(_in_use(error, patience)) from error
        await asyncio.sleep(patience.pause)
    raise AssertionError


def _in_use(error: TableInUse, patience: LockPatience) -> str:
    return (
        f"{error}: others use the table, and {patience.tries} times it was "
        f"not free within {patience.seconds:g} seconds. Run {error.command} again in a quieter moment, or when the "
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
            # SQLAlchemy passes the options of a NOT VALID check under an unknown name.
            warnings.filterwarnings("ignore", "Can't validate argument 'dialect_options'", SAWarning)
            return run(commands, connection)

    # The session lock ends with the connection.
    async with engine.connect() as connection:
        while not (await connection.execute(text(_LOCK))).scalar_one():
            await connection.rollback()
            await asyncio.sleep(_LOCK_PAUSE)
        if (await connection.execute(text(_HAS_CITUS))).scalar_one():
            done = (await connection.execute(text(DONE))).scalars().all()
            await connection.run_sync(hold_foreign_keys_back, done)
        await connection.rollback()
        value = await connection.run_sync(run_named)
    return CommandOutcome(value, printed.getvalue().splitlines(), tuple(config.attributes["notes"]))


def _commands(engine: AsyncEngine, metadata: MetaData, folders: Sequence[Path]) -> AlembicCommands:
    alembic = AlembicAsyncConfig(script_location=_escaped(Path(__file__).parent), version_table_name="alembic_version")
    commands = AlembicCommands(
        SQLAlchemyAsyncConfig(engine_instance=engine, bind_key=BIND_KEY, metadata=metadata, alembic_config=alembic)
    )
    # env.py reads the tables here: advanced-alchemy has one MetaData per key, and a process may use two registries
    # concurrently.
    commands.config.attributes.update(metadata=metadata, notes=[])
    commands.config.set_main_option("path_separator", "newline")
    commands.config.set_main_option("version_locations", "\n".join(map(_escaped, folders)))
    commands.config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    return commands


@contextmanager
def named_file(config: Config) -> Iterator[None]:
    """Add file and line of a failed migration to its error, except after the loss of the database."""
    try:
        yield
    except (MigrationRefused, CommandError):
        raise
    except Exception as error:
        folders = config.get_main_option("version_locations", "").splitlines()
        place = _place(error, [Path(folder.replace("%%", "%")) for folder in folders])
        behind, is_undoing = list(causes(error)), bool(config.attributes.get(UNDOING))
        failed = f"{place or 'A migration'} cannot be {'undone' if is_undoing else 'applied'}, {_left(config)}"
        command = _UNDO if is_undoing else "tenantry migrate"
        if any(isinstance(cause, _IN_USE) for cause in behind):
            raise TableInUse(failed, command) from error
        if place is None or any(isinstance(cause, (*AWAY, asyncpg.TransactionRollbackError)) for cause in behind):
            raise
        said = next((cause for cause in behind if isinstance(cause, asyncpg.PostgresError)), error)
        # If the owner lacks a right, the file is correct. The hint for the role has the GRANT statement.
        edit = f"Edit downgrade() in the file and run: {_UNDO}" if is_undoing else EDIT
        way_out = f"Then run: {command}" if isinstance(said, asyncpg.InsufficientPrivilegeError) else edit
        raise MigrationRefused(f"{failed}: {_sentence(said, behind)}. {way_out}") from error


def _sentence(said: BaseException, behind: Sequence[BaseException]) -> str:
    """Return PostgreSQL's message and detail; for a change of a type, with its statement, which names the column."""
    statements = (cause.statement for cause in behind if isinstance(cause, DBAPIError))
    statement = next((text for text in statements if text and " TYPE " in text), None)
    return " ".join(f"{said}{f', by: {statement}' if statement else ''}".split())


def _left(config: Config) -> str:
    """Describe the result of a failed file: completed online statements remain."""
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
