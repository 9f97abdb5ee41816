"""Commands of advanced-alchemy on one locked connection, over several folders of migrations."""

from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Generic, TypeVar

import asyncpg
from advanced_alchemy.alembic.commands import AlembicCommands
from advanced_alchemy.config import AlembicAsyncConfig, SQLAlchemyAsyncConfig
from alembic.script.revision import ResolutionError
from alembic.util.exc import CommandError
from msgspec import Struct
from sqlalchemy import Connection, MetaData, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from adapters.postgres.connection.driver_errors import unwrapped
from adapters.postgres.connection.failures import translated
from adapters.postgres.migrations.pending import MigrationRefused

T = TypeVar("T")

BIND_KEY = "tenantry"
"""Name of the tables among those that advanced-alchemy knows: a user's own tables have the default one."""

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.migrations', 0))"


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
    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url, timeout=5), poolclass=NullPool
    )
    try:
        with translated(), unwrapped():
            return await _run_locked(engine, _commands(engine, metadata, folders), command, commits=commits)
    except CommandError as error:
        raise MigrationRefused(_reason(error)) from error
    finally:
        await engine.dispose()


async def _run_locked(
    engine: AsyncEngine, commands: AlembicCommands, command: Callable[[AlembicCommands], T], *, commits: bool
) -> CommandOutcome[T]:
    config = commands.config
    config.stdout = printed = StringIO()

    def run(connection: Connection) -> T:
        config.attributes["connection"] = connection
        connection.execute(text(_LOCK))
        return command(commands)

    async with engine.connect() as connection:
        value = await connection.run_sync(run)
        # Alembic makes its table of versions for commands that only read, too: without a commit it is gone again
        if commits:
            await connection.commit()
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


def _reason(error: CommandError) -> str:
    cause = error.__cause__
    if isinstance(cause, ResolutionError):
        return f"No migration has the revision {cause.argument}: see `tenantry migrations history`."
    return f"{error}."


def _escaped(folder: Path) -> str:
    return str(folder).replace("%", "%%")
