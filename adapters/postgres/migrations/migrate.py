"""Upgrades, and migrations written from declarations."""

from argparse import Namespace
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from advanced_alchemy.alembic.commands import AlembicCommands
from alembic.script import Script
from msgspec import Struct
from sqlalchemy import Connection

from adapters.postgres.migrations.commands import LockPatience, apply_command, run_command
from adapters.postgres.migrations.pending import (
    VERSIONS,
    MigrationRefused,
    applied_versions,
    ensure_consistent,
    file_of,
    heads_of,
    pending,
)
from adapters.postgres.migrations.renames import offers, renames
from adapters.postgres.migrations.stored_values import mappings, misfits
from adapters.postgres.migrations.switches import ensure_possible, replaced_indexes
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry

_PATIENCE = LockPatience()


class WrittenMigration(Struct, frozen=True):
    """Result of ``write_migration``: the new file, and notes on what it leaves alone or leaves to a person."""

    path: Path
    notes: tuple[str, ...]


async def upgrade(
    url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,), patience: LockPatience = _PATIENCE
) -> list[str]:
    """Applies all migrations or none, and returns sentences about what no migration makes yet.

    Where a table is in use, everything is rolled back and tried again, as ``patience`` says.

    Raises InconsistentMigrations, and MigrationRefused with the name of a file that cannot be applied.
    """
    ensure_consistent(folders)
    await apply_command(url, metadata_for(registry), folders, lambda commands: commands.upgrade("heads"), patience)
    return await pending(url, registry, folders)


async def pending_sql(url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,)) -> str:
    """Statements that ``upgrade`` would run; none when nothing is pending."""
    ensure_consistent(folders)
    applied = await applied_versions(url)
    if applied == heads_of(folders):
        return ""

    def printed(commands: AlembicCommands) -> None:
        commands.config.attributes["applied"] = applied
        commands.config.output_buffer = commands.config.stdout  # run_command reads it
        commands.upgrade("heads", sql=True)

    outcome = await run_command(url, metadata_for(registry), folders, printed, commits=False)
    return "\n".join(outcome.lines).strip()


async def write_migration(
    url: str, registry: Registry, message: str, folders: Sequence[Path] = (VERSIONS,), renamed: Sequence[str] = ()
) -> WrittenMigration | None:
    """Writes a migration for what is declared beyond all files into the last folder, and changes no database.

    ``renamed`` are fields and entities with a new name: ``["code=sku", "books.code=sku", "books=titles"]``. Returns
    None when there is nothing to write. Raises InconsistentMigrations and MigrationRefused.
    """
    ensure_consistent(folders)
    metadata = metadata_for(registry)

    def write(commands: AlembicCommands) -> object:
        commands.config.cmd_opts = Namespace(quiet=True)  # else Alembic prints the path past our own message
        attributes = commands.config.attributes
        connection: Connection = attributes["connection"]
        # What other files change is there while this one is written, and is rolled back with everything else.
        commands.upgrade("heads")
        attributes["first"] = renames(connection, registry, renamed)
        ensure_possible(connection, registry)
        # in front of everything else, and behind the renames: the columns have their new names and their old values
        attributes["first"] = [*attributes["first"], *mappings(connection, registry)]
        attributes["choices"] = {
            (model.table, field.name): field.choices for model in registry for field in model.declared if field.choices
        }
        attributes["last"] = replaced_indexes(connection, registry, metadata)
        attributes["notes"] += [*offers(connection, registry), *misfits(connection, registry)]
        return _revision(commands, message, folders)

    written = await run_command(url, metadata, folders, write, commits=False)
    return WrittenMigration(Path(written.value.path), written.notes) if isinstance(written.value, Script) else None


async def discard(url: str, folders: Sequence[Path]) -> Path:
    """Deletes the newest file of the last folder, which no database that it knows of has. Raises MigrationRefused."""
    newest = heads_of(folders[-1:])
    if not newest or folders[-1] == VERSIONS:
        raise MigrationRefused("There is no migration of your own to take back.")
    path = file_of(folders[-1], newest[0])
    if newest[0] in await applied_versions(url):
        raise MigrationRefused(f"{path} is applied: it is undone by `tenantry migrations downgrade`, not by this.")
    path.unlink()
    return path


async def downgrade(url: str, registry: Registry, folders: Sequence[Path]) -> Path:
    """Undoes the newest applied migration of the last folder. Raises MigrationRefused."""
    ensure_consistent(folders)
    newest = heads_of(folders[-1:])
    if folders[-1] == VERSIONS or not newest or newest[0] not in await applied_versions(url):
        raise MigrationRefused("The newest migration of your own is not applied: there is nothing to undo.")
    await apply_command(
        url, metadata_for(registry), folders, lambda commands: commands.downgrade(f"{newest[0]}@-1"), _PATIENCE
    )
    return file_of(folders[-1], newest[0])


def _revision(commands: AlembicCommands, message: str, folders: Sequence[Path]) -> object:
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
