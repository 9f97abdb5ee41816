"""Migrations at the start and on command: applying, writing, telling and marking them."""

# Alembic is slow to import, and takes memory: what needs it is imported where it is called, in the process of a command
# or in the child process that prepares a start.

from collections.abc import Sequence
from pathlib import Path

from adapters.postgres.migrations.pending import VERSIONS, pending
from domain.entities.declaration import Registry
from entrypoints.cli.errors import MIGRATIONS, CommandError
from entrypoints.entities import load_registry, migration_folders
from entrypoints.settings.settings import Settings

WRITE = 'tenantry migrate --write "what has changed"'


async def ensure_migrated(settings: Settings, registry: Registry) -> None:
    """Migrates, unless TENANTRY_MIGRATE is off. Raises CommandError while anything is missing."""
    url, folders = _url(settings), _folders(settings)
    missing = await pending(url, registry, folders)
    if not missing:
        return
    if not settings.migrate:
        raise CommandError(
            _listed("The database is not up to date", missing, "Run: tenantry migrate (TENANTRY_MIGRATE is off)."),
            MIGRATIONS,
        )
    await _upgrade(url, registry, folders)


async def migrate(settings: Settings) -> str:
    await _upgrade(_url(settings), load_registry(settings.entities), _folders(settings))
    return "The database is up to date."


async def check_migrations(settings: Settings) -> str:
    missing = await pending(_url(settings), load_registry(settings.entities), _folders(settings))
    if missing:
        raise CommandError(_listed("The database is not up to date", missing, "Run: tenantry migrate"), MIGRATIONS)
    return "The database is up to date."


async def write_and_migrate(settings: Settings, message: str) -> str:
    """Writes a migration beside the last module of ENTITIES that is not our own, and applies it."""
    from adapters.postgres.migrations.migrate import write_migration  # noqa: PLC0415

    registry, folders = load_registry(settings.entities), _folders(settings)
    # The first folder is our own: what users declare belongs beside their files.
    folders[-1].mkdir(parents=True, exist_ok=True)
    written = await write_migration(_url(settings), registry, message, folders)
    if written is None:
        return "The database is what the entities declare: there is nothing to write."
    notes = [f"Note: {note}" for note in written.notes]
    applied = await migrate(settings)
    return "\n".join([f"Wrote {written.path}: read it, and keep it with your entities.", *notes, applied])


async def current(settings: Settings) -> str:
    from adapters.postgres.migrations import inspection  # noqa: PLC0415

    lines = await inspection.current(_url(settings), load_registry(settings.entities), _folders(settings))
    return "\n".join(lines) or "No migration has been applied to this database."


async def history(settings: Settings) -> str:
    from adapters.postgres.migrations import inspection  # noqa: PLC0415

    return "\n".join(await inspection.history(_url(settings), load_registry(settings.entities), _folders(settings)))


async def check_schema(settings: Settings) -> str:
    """Compares the whole schema with the declarations. Raises CommandError when they differ."""
    from adapters.postgres.migrations import inspection  # noqa: PLC0415

    await check_migrations(settings)
    found = await inspection.differences(_url(settings), load_registry(settings.entities), _folders(settings))
    if found:
        raise CommandError(_listed("The database differs from what is declared", found, f"Run: {WRITE}"), MIGRATIONS)
    return "The database is up to date, and is what the entities declare."


async def stamp(settings: Settings, revision: str) -> str:
    from adapters.postgres.migrations import inspection  # noqa: PLC0415

    registry, folders = load_registry(settings.entities), _folders(settings)
    await inspection.stamp(_url(settings), registry, revision, folders)
    marked = ", ".join(await inspection.current(_url(settings), registry, folders))
    return f"The database is marked as being at {marked}. No migration was run."


async def _upgrade(url: str, registry: Registry, folders: Sequence[Path]) -> None:
    from adapters.postgres.migrations.migrate import upgrade  # noqa: PLC0415

    if missing := await upgrade(url, registry, folders):
        raise CommandError(_undeclared(missing), MIGRATIONS)


def _undeclared(missing: Sequence[str]) -> str:
    return _listed("The database lacks what the entities declare", missing, f"Run: {WRITE}")


def _listed(title: str, lines: Sequence[str], way_out: str) -> str:
    return "\n".join([f"{title}:", *(f"  - {line}" for line in lines), way_out])


def _url(settings: Settings) -> str:
    assert settings.database_url is not None
    return settings.database_url.reveal()


def _folders(settings: Settings) -> list[Path]:
    return [VERSIONS, *migration_folders(settings.entities)]
