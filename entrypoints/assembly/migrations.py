"""Migrations at startup and on command: apply, write, report and stamp."""

# Alembic is slow to import and needs memory: import its users late, in a command's process or the child process that
# prepares a start.

import asyncio
import logging
import tempfile
from collections.abc import Sequence
from pathlib import Path

from adapters.postgres.connection.locales import locale_mistake
from adapters.postgres.connection.login_roles import ensure_login_role
from adapters.postgres.connection.search_indexes import search_remedy, searches_missed
from adapters.postgres.migrations.pending import (
    VERSIONS,
    applied_versions,
    heads_of,
    made_by_newer,
    pending,
    tables_of_others,
    unknown_sentence,
    unknown_to,
)
from adapters.postgres.operations.open_tables import guard_warnings
from domain.entities.declaration import Registry
from entrypoints.assembly.clusters import distributed_now, ensure_distributed, ensure_ready
from entrypoints.assembly.entities import load_registry, migration_folders
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import MIGRATIONS, CommandError, writing
from entrypoints.terminal.progress import step_bar

log = logging.getLogger(__name__)

CHECK = "tenantry migrations check"
WRITE = 'tenantry migrate --write "what has changed", read the file, then: tenantry migrate'
NEXT = (
    "Read the file and keep it with your entities. Then apply it: tenantry migrate (--sql prints its SQL). To take it"
    " back: tenantry migrations discard"
)

CHANGED = (
    "TENANTRY_ENTITIES names no entity of your own, and the tables of Tenantry have all of their migrations: somebody"
    " has changed them by hand. Take that back by SQL."
)
NO_FOLDER = (
    "A migration for search indexes needs a folder of your own: name a file of yours in TENANTRY_ENTITIES beside"
    " tenantry.catalogue, such as one with `ENTITIES = ()`, and the migration is written beside it."
)
NOTHING_TO_WRITE = Answer(
    "The migrations make what the entities declare: there is nothing to write.", {"files": [], "notes": []}
)


async def ensure_migrated(settings: Settings, registry: Registry) -> None:
    """Migrate, unless TENANTRY_MIGRATE is off. Raises CommandError while anything is missing."""
    url, folders = settings.owner_url, _folders(settings)
    await _ensure_locale(settings)
    missing = await pending(url, registry, folders)
    if missing:
        await _ensure_known(settings)
        if not settings.migrate:
            raise _unfit(
                "The database is not up to date", missing, f"{await _way_out(settings)} (TENANTRY_MIGRATE is off)."
            )
        await _upgrade(url, registry, folders)
    await ensure_distributed(settings, registry)
    # Run concurrently, because each waits for its own connection.
    slow, warnings = await asyncio.gather(searches_missed(url, registry), guard_warnings(url, registry))
    if slow and settings.database_kind == "server":
        log.warning("%s", await _slow_searches(url, slow))
    for warning in warnings:
        log.warning("%s", warning)


async def ensure_login(settings: Settings) -> None:
    """Create the role of TENANTRY_DATABASE_URL, if TENANTRY_DATABASE_OWNER_URL names another one."""
    if settings.database_owner_url is not None:
        assert settings.database_url is not None
        await ensure_login_role(settings.database_owner_url.reveal(), settings.database_url.reveal())


async def migrate(settings: Settings) -> str:
    await ensure_login(settings)
    await _ensure_locale(settings)
    await _ensure_known(settings)
    before = await applied_versions(settings.owner_url)
    granted = await _grant_rights(settings) if before else []
    await _upgrade(*_declared(settings))
    distributed = await distributed_now(settings, load_registry(settings.entities))
    after = await applied_versions(settings.owner_url)
    # The author of a migration needs a confirmation that it was applied.
    applied = f"Applied the migrations up to {' and '.join(after)}. " if after != before else ""
    spread = f"Distributed {', '.join(distributed)}. " if distributed else ""
    lines = [f"{applied}{spread}The database is up to date.", *(f"Mended: {found}" for found in granted)]
    return Answer("\n".join(lines), {"isUpToDate": True, "mended": granted}) if granted else lines[0]


async def _grant_rights(settings: Settings) -> list[str]:
    """Restore the roles and rights that a copied database lacks."""
    from adapters.postgres.migrations import inspection

    return await inspection.grant_rights(*_declared(settings))


async def check_migrations(settings: Settings) -> str:
    await _ensure_locale(settings)
    missing = await pending(*_declared(settings))
    if missing:
        await _ensure_known(settings)
        raise _unfit("The database is not up to date", missing, await _way_out(settings))
    registry = load_registry(settings.entities)
    await ensure_ready(settings, registry)
    # No index serves a search on a cluster.
    slow = [] if settings.database_kind == "citus" else await searches_missed(settings.owner_url, registry)
    notes = [await _slow_searches(settings.owner_url, slow)] if slow else []
    return _noted("The database is up to date.", notes)


async def check_pending(settings: Settings) -> str:
    """Check as ``check_migrations``, and row-level security and rights of tables. Raises CommandError."""
    up_to_date = await check_migrations(settings)
    if unguarded := await guard_warnings(settings.owner_url, load_registry(settings.entities)):
        raise _unfit("The database is not guarded as its migrations have set it up", unguarded, f"Then run: {CHECK}")
    return up_to_date


async def _way_out(settings: Settings) -> str:
    """Return the command that updates the database: it applies pending migrations or writes a missing one."""
    folders = _folders(settings)
    are_applied = await applied_versions(settings.owner_url) == sorted(heads_of(folders))
    if not are_applied:
        return "Run: tenantry migrate"
    return CHANGED if folders[-1] == VERSIONS else f"Run: {WRITE}"


async def check_stored_values(settings: Settings) -> list[str]:
    """Return sentences about stored values unknown to the declarations."""
    from adapters.postgres.migrations.stored_values import stored_misfits

    return await stored_misfits(*_declared(settings))


async def print_sql(settings: Settings) -> str:
    """Return the SQL of the pending migrations. This does not run the SQL."""
    from adapters.postgres.migrations.migrate import pending_sql

    await _ensure_known(settings)
    statements = await pending_sql(*_declared(settings))
    return Answer(statements or "-- The database is up to date: nothing is pending.", {"sql": statements})


async def write(settings: Settings, message: str, renamed: Sequence[str] = ()) -> str:
    """Write a migration next to the last module of ENTITIES outside this package, but do not apply it."""
    from adapters.postgres.migrations.migrate import write_migration

    registry, folders = load_registry(settings.entities), _folders(settings)
    await _ensure_known(settings)
    # The first folder belongs to Tenantry; users' migrations belong next to their modules.
    if folders[-1] == VERSIONS:
        return await _nothing_of_ones_own(settings)
    with writing(folders[-1], "make it a folder in which this account may write"):
        folders[-1].mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folders[-1]).close()
    written = await write_migration(settings.owner_url, registry, message, folders, renamed)
    if written is None:
        return NOTHING_TO_WRITE
    notes = [f"Note: {note}" for note in written.notes]
    paths = [path for path in (written.path, written.after) if path is not None]
    told = f"Wrote {_named(paths)}, and applied nothing."
    text = "\n".join([*(path.read_text("utf-8") for path in paths), told, *notes, NEXT])
    return Answer(text, {"files": paths, "notes": written.notes})


async def _nothing_of_ones_own(settings: Settings) -> str:
    """Raises CommandError if Tenantry's tables differ: their migrations are not written here."""
    from adapters.postgres.migrations import inspection

    found = await inspection.differences(*_declared(settings))
    if found:
        raise _unfit("The database differs from what is declared", found, await _way_out(settings))
    if await searches_missed(settings.owner_url, load_registry(settings.entities)):
        raise CommandError(NO_FOLDER, MIGRATIONS)
    return NOTHING_TO_WRITE


async def discard(settings: Settings) -> str:
    from adapters.postgres.migrations import migrate as migrations

    paths = await migrations.discard(settings.owner_url, _folders(settings))
    verb = "was" if len(paths) == 1 else "were"
    return Answer(f"Deleted {_named(paths)}, which {verb} not applied to this database.", {"files": paths})


async def downgrade(settings: Settings) -> str:
    from adapters.postgres.migrations import migrate as migrations

    paths = await migrations.downgrade(*_declared(settings))
    again = "The file is pending again: change it" if len(paths) == 1 else "The files are pending again: change them"
    return Answer(f"Undid {_named(paths)}. {again}, or run: tenantry migrations discard", {"files": paths})


def _named(paths: Sequence[Path]) -> str:
    return " and ".join(map(str, paths))


async def _ensure_locale(settings: Settings) -> None:
    """Raise CommandError if the locale breaks case-insensitive comparisons; only warn for a database in use."""
    mistake = await locale_mistake(settings.owner_url)
    if mistake is None:
        return
    if not mistake.is_in_use:
        raise CommandError(mistake.sentence)
    # The service has served its rows so far: an upgrade must not stop it.
    log.warning("%s", mistake.sentence)


async def _slow_searches(url: str, fields: Sequence[str]) -> str:
    return (
        f"No index finds what is searched in {', '.join(fields)}: searches for rare words read all rows of the tenant. "
        f'{await search_remedy(url)}. Then run: tenantry migrate --write "search indexes"'
    )


async def _ensure_known(settings: Settings) -> None:
    """Raise CommandError if no named folder contains an applied migration."""
    if lost := await _ensure_own(settings):
        # Do not advise the user to stamp a database of a newer version: the service would use tables unknown to it.
        advice = "" if made_by_newer(lost) else f" {_named_again(settings)}"
        raise CommandError(f"{unknown_sentence(lost)}{advice}", MIGRATIONS)


async def _ensure_own(settings: Settings) -> list[str]:
    """Applied revisions without a file.

    Raises CommandError for a database with only another application's tables.
    """
    versions = await applied_versions(settings.owner_url)
    lost = unknown_to(versions, _folders(settings))
    has_none_of_ours = len(lost) == len(versions)
    if has_none_of_ours and (others := await tables_of_others(settings.owner_url, versions)):
        raise CommandError(
            f"The database has tables of another application, which Tenantry would make too: {', '.join(others)}. "
            "Nothing was changed. Tenantry needs a separate database: create one, and name it in "
            "TENANTRY_DATABASE_URL and TENANTRY_DATABASE_OWNER_URL.",
            MIGRATIONS,
        )
    return lost


def _named_again(settings: Settings) -> str:
    return (
        f"TENANTRY_ENTITIES is {','.join(settings.entities)}: name the modules again that it had, and run: tenantry"
        " check. Where their files are gone for good, and the database is what is declared, run: tenantry migrations"
        " stamp heads"
    )


async def current(settings: Settings) -> str:
    from adapters.postgres.migrations import inspection

    lines = await inspection.current(*_declared(settings))
    known = await inspection.revisions(*_declared(settings))
    text = "\n".join(lines) or "No migration has been applied to this database."
    return Answer(text, [revision for revision in known if revision.is_current])


async def history(settings: Settings) -> str:
    from adapters.postgres.migrations import inspection

    lines = await inspection.history(*_declared(settings))
    return Answer("\n".join(lines), await inspection.revisions(*_declared(settings)))


async def check_schema(settings: Settings) -> str:
    """Compare the whole schema with the declarations. Raises CommandError for differences."""
    from adapters.postgres.migrations import inspection

    await check_migrations(settings)
    examined = await inspection.examined(*_declared(settings))
    if found := [*examined.differences, *map(str, examined.gaps)]:
        # A new migration does not close a gap: somebody changed the initial setup.
        way_out = f"Run: {WRITE}" if examined.differences else f"Then run again: {CHECK}"
        raise _unfit("The database differs from what is declared", found, way_out)
    misfits = await check_stored_values(settings)
    return _noted("The database is up to date, and is what the entities declare.", misfits)


async def schema_findings(settings: Settings) -> list[str]:
    """Return sentences about tables different from the declarations, and about roles, rights and row-level security."""
    from adapters.postgres.migrations import inspection

    examined = await inspection.examined(*_declared(settings))
    return [*examined.differences, *map(str, examined.gaps)]


async def stamp(settings: Settings, revision: str) -> str:
    from adapters.postgres.migrations import inspection

    registry, folders = load_registry(settings.entities), _folders(settings)
    await _ensure_own(settings)
    await inspection.stamp(settings.owner_url, registry, revision, folders)
    marked = await inspection.current(settings.owner_url, registry, folders)
    text = f"The database is marked as being at {', '.join(marked)}. No migration was run."
    return Answer(text, {"current": [line.partition(" ")[0] for line in marked]})


async def _upgrade(url: str, registry: Registry, folders: Sequence[Path]) -> None:
    from adapters.postgres.migrations.migrate import upgrade

    with step_bar("Migrating") as tell:
        missing = await upgrade(url, registry, folders, tell=tell)
    if missing:
        raise _unfit("The database lacks what the entities declare", missing, f"Run: {WRITE}")


def _unfit(title: str, findings: Sequence[str], way_out: str) -> CommandError:
    text = "\n".join([f"{title}:", *(f"  - {finding}" for finding in findings), way_out])
    return CommandError(text, MIGRATIONS, data={"isUpToDate": False, "findings": list(findings)})


def _noted(title: str, notes: Sequence[str]) -> Answer:
    return Answer("\n".join([title, *(f"Note: {note}" for note in notes)]), {"isUpToDate": True, "notes": list(notes)})


def _declared(settings: Settings) -> tuple[str, Registry, list[Path]]:
    return settings.owner_url, load_registry(settings.entities), _folders(settings)


def _folders(settings: Settings) -> list[Path]:
    return [VERSIONS, *migration_folders(settings.entities)]
