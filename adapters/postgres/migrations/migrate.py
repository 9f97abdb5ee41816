"""Alembic, driven over asyncpg: one lock, one transaction, and files written from declarations."""

from argparse import Namespace
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import Script
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from adapters.postgres.connection.failures import translated
from adapters.postgres.migrations.pending import VERSIONS, ensure_consistent, heads_of, pending
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry

T = TypeVar("T")

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('tenantry.migrations', 0))"


@dataclass(frozen=True)
class WrittenMigration:
    """A new migration, and what it leaves alone and a reader should know of."""

    path: Path
    notes: tuple[str, ...]


async def upgrade(url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,)) -> list[str]:
    """All or nothing, under a lock that others wait for; answers what no migration makes yet.

    Raises InconsistentMigrations.
    """
    ensure_consistent(folders)
    config = _config(registry, folders)
    await _run(url, config, lambda: command.upgrade(config, "heads"))
    return await pending(url, registry, folders)


async def write_migration(
    url: str, registry: Registry, message: str, folders: Sequence[Path] = (VERSIONS,)
) -> WrittenMigration | None:
    """Brings the database up to date, and writes what is declared beyond it into the last folder, unapplied.

    None when there is nothing to write.
    """
    await upgrade(url, registry, folders)
    config = _config(registry, folders)
    script = await _run(url, config, lambda: _write(config, message, folders))
    notes = tuple(config.attributes["notes"])
    return WrittenMigration(Path(script.path), notes) if isinstance(script, Script) else None


def _write(config: Config, message: str, folders: Sequence[Path]) -> object:
    """Ours are numbered. Those of own entities are a line beside them, which later ones of ours do not cut through."""
    folder = folders[-1]
    before = heads_of([folder])
    now = 0 if folder == VERSIONS else int(f"{datetime.now(UTC):%Y%m%d%H%M%S}")
    number = max(now, int(before[0]) + 1 if before else 1)
    return command.revision(
        config,
        message,
        autogenerate=True,
        rev_id=f"{number:04}",
        version_path=str(folder),
        head=before[0] if before else "base",
        depends_on=None if before else heads_of([VERSIONS])[0],
    )


def _config(registry: Registry, folders: Sequence[Path]) -> Config:
    config = Config(cmd_opts=Namespace(quiet=True), attributes={"metadata": metadata_for(registry), "notes": []})
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.set_main_option("version_locations", "\n".join(str(folder).replace("%", "%%") for folder in folders))
    config.set_main_option("file_template", "%%(rev)s_%%(slug)s")
    return config


async def _run(url: str, config: Config, action: Callable[[], T]) -> T:
    def run(connection: Connection) -> T:
        config.attributes["connection"] = connection
        connection.execute(text(_LOCK))
        return action()

    engine = create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url, timeout=5), poolclass=NullPool
    )
    try:
        with translated():
            async with engine.begin() as connection:
                return await connection.run_sync(run)
    finally:
        await engine.dispose()
