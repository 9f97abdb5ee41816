"""Upgrades, and migrations written from declarations."""

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from advanced_alchemy.alembic.commands import AlembicCommands
from alembic.script import Script
from msgspec import Struct

from adapters.postgres.migrations.commands import run_command
from adapters.postgres.migrations.pending import VERSIONS, ensure_consistent, heads_of, pending
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry


class WrittenMigration(Struct, frozen=True):
    """Result of ``write_migration``: the new file, and notes on what it leaves alone."""

    path: Path
    notes: tuple[str, ...]


async def upgrade(url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,)) -> list[str]:
    """Applies all migrations or none, and returns sentences about what no migration makes yet.

    Raises InconsistentMigrations.
    """
    ensure_consistent(folders)
    await run_command(url, metadata_for(registry), folders, lambda commands: commands.upgrade("heads"))
    return await pending(url, registry, folders)


async def write_migration(
    url: str, registry: Registry, message: str, folders: Sequence[Path] = (VERSIONS,)
) -> WrittenMigration | None:
    """Upgrades, and writes a migration for what is declared beyond that into the last folder, without applying it.

    Returns None when there is nothing to write.
    """
    await upgrade(url, registry, folders)
    written = await run_command(
        url, metadata_for(registry), folders, lambda commands: _write(commands, message, folders)
    )
    return WrittenMigration(Path(written.value.path), written.notes) if isinstance(written.value, Script) else None


def _write(commands: AlembicCommands, message: str, folders: Sequence[Path]) -> object:
    commands.config.cmd_opts = Namespace(quiet=True)  # else Alembic prints the path past our own message
    folder = folders[-1]
    before = heads_of([folder])
    # Our migrations are numbered, those of users have the time. Users' are a line of their own, which starts at the
    # last of ours: later ones of ours do not come between them.
    now = 0 if folder == VERSIONS else int(f"{datetime.now(UTC):%Y%m%d%H%M%S}")
    number = max(now, int(before[0]) + 1 if before else 1)
    return commands.revision(
        message,
        autogenerate=True,
        rev_id=f"{number:04}",
        version_path=str(folder),
        head=before[0] if before else "base",
        depends_on=None if before else heads_of([VERSIONS])[0],
    )
