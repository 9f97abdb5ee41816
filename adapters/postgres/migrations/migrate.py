"""Upgrades, and migrations generated from declarations."""

import ast
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from advanced_alchemy.alembic.commands import AlembicCommands
from alembic.script import Script
from msgspec import Struct
from sqlalchemy import Connection

from adapters.postgres.migrations.commands import UNDOING, LockPatience, apply_command, run_command
from adapters.postgres.migrations.online.applying import Tell
from adapters.postgres.migrations.online.applying import upgrade as apply_pending
from adapters.postgres.migrations.online.search_indexes import search_indexes
from adapters.postgres.migrations.online.writing import ONLINE_MESSAGE
from adapters.postgres.migrations.pending import (
    VERSIONS,
    MigrationRefused,
    applied_versions,
    ensure_consistent,
    file_before,
    heads_of,
    newest_of,
    numbers_of,
    parents,
    pending,
    revision_of,
)
from adapters.postgres.migrations.renames import offers, renames
from adapters.postgres.migrations.stored_values import kept_members, mappings, misfits
from adapters.postgres.migrations.switches import ensure_possible, guards, replaced_indexes
from adapters.postgres.schema.schema import metadata_for
from domain.entities.declaration import Registry

_PATIENCE = LockPatience()


class WrittenMigration(Struct, frozen=True):
    """Result of ``write_migration``: the new file, and notes on unchanged objects and open decisions.

    ``after`` is the next file, applied online, if the change needs two.
    """

    path: Path
    notes: tuple[str, ...]
    after: Path | None = None


async def upgrade(
    url: str,
    registry: Registry,
    folders: Sequence[Path] = (VERSIONS,),
    patience: LockPatience = _PATIENCE,
    tell: Tell | None = None,
) -> list[str]:
    """Apply all migrations; return sentences about changes without a migration.

    PostgreSQL applies the migrations between two online files together or not at all. If a table is in use, the service
    rolls them back and retries, limited by ``patience``. After each file, ``tell`` receives the number of applied files
    and the total.

    Raises InconsistentMigrations, and MigrationRefused with the name of the failed file.
    """
    ensure_consistent(folders)

    def apply(commands: AlembicCommands, connection: Connection, limit_waiting: Callable[[bool], None]) -> None:
        apply_pending(commands, connection, limit_waiting, tell)

    await apply_command(url, metadata_for(registry), folders, apply, patience)
    return await pending(url, registry, folders)


async def pending_sql(url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,)) -> str:
    """Return the statements ``upgrade`` would run; none if nothing is pending."""
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
    url: str,
    registry: Registry,
    message: str,
    folders: Sequence[Path] = (VERSIONS,),
    renamed: Sequence[str] = (),
    patience: LockPatience = _PATIENCE,
) -> WrittenMigration | None:
    """Write a migration for new declarations into the last folder, without changing a database.

    ``renamed`` are renamed fields and entities: ``["code=sku", "books.code=sku", "books=titles"]``. Returns None
    without changes. Raises InconsistentMigrations, and MigrationRefused, also for tables in use.
    """
    ensure_consistent(folders)
    metadata, kept = metadata_for(registry), kept_members(folders)

    def write(commands: AlembicCommands, connection: Connection, limit_waiting: Callable[[bool], None]) -> object:
        commands.config.cmd_opts = Namespace(quiet=True)  # else Alembic prints the path past our own message
        attributes = commands.config.attributes
        # Renames and pending files lock tables; others queue behind a waiting lock.
        limit_waiting(True)
        # Apply changes of other files while writing this one; the rollback undoes them.
        commands.upgrade("heads")
        attributes["first"] = renames(connection, registry, metadata, renamed)
        ensure_possible(connection, registry)
        # After the renames and before all else: columns have new names and old values.
        searches = list(search_indexes(connection, registry))
        attributes["first"] += [
            *(made for made in searches if made.is_early),
            *guards(connection, registry),
            *mappings(connection, registry, kept),
        ]
        attributes["choices"] = {
            (model.table, field.name): field.choices for model in registry for field in model.declared if field.choices
        }
        attributes["last"] = [
            *replaced_indexes(connection, registry, metadata),
            *(made for made in searches if not made.is_early),
        ]
        attributes["notes"] += [
            *_joined(folders[-1]),
            *offers(connection, registry, metadata),
            *misfits(connection, registry, kept),
        ]
        return _revision(commands, message, folders)

    written = await apply_command(url, metadata, folders, write, patience)
    scripts = written.value if isinstance(written.value, list) else [written.value]
    paths = [Path(script.path) for script in scripts if isinstance(script, Script)]
    return WrittenMigration(paths[0], written.notes, next(iter(paths[1:]), None)) if paths else None


async def discard(url: str, folders: Sequence[Path]) -> list[Path]:
    """Delete the newest migration of the last folder if the database has not applied it. Raises MigrationRefused.

    Returns its files, one or two, in order of application.
    """
    newest = newest_of(folders[-1])
    if not newest or folders[-1] == VERSIONS:
        raise MigrationRefused("There is no migration of your own to take back.")
    applied = await applied_versions(url)
    path = newest[0]
    if revision_of(path) in applied:
        raise MigrationRefused(f"{path} is applied: it is undone by `tenantry migrations downgrade`, not by this.")
    first = _first_of(path, folders[-1])
    taken = [path] if first == path or revision_of(first) in applied else [first, path]
    for file in taken:
        file.unlink()
    return taken


async def downgrade(url: str, registry: Registry, folders: Sequence[Path]) -> list[Path]:
    """Undo the newest applied migration of the last folder. Raises MigrationRefused.

    Returns the undone files, one or two, in order of application.
    """
    ensure_consistent(folders)
    folder, applied = folders[-1], await applied_versions(url)
    # The database stores only its newest revision: if that is a second file, the first file was applied too.
    lines = [(file, _first_of(file, folder)) for file in newest_of(folder) if folder != VERSIONS]
    done = next(
        ([first, file] if file != first else [file] for file, first in lines if revision_of(file) in applied), []
    ) or next(([first] for _, first in lines if revision_of(first) in applied), [])
    if not done:
        raise MigrationRefused("The newest migration of your own is not applied: there is nothing to undo.")
    before = parents(done[0].read_text("utf-8"))
    # A merge file has two parents, so downgrade to both.
    target = before[0] if len(before) > 1 else f"-{len(done)}"

    def undo(commands: AlembicCommands, connection: Connection, limit_waiting: Callable[[bool], None]) -> None:
        limit_waiting(False)
        commands.config.attributes[UNDOING] = True
        commands.downgrade(f"{revision_of(done[-1])}@{target}")
        connection.commit()

    await apply_command(url, metadata_for(registry), folders, undo, _PATIENCE)
    return done


def _first_of(path: Path, folder: Path) -> Path:
    """Return the first file of the migration that includes this path."""
    before = file_before(folder, path)
    is_second = before is not None and _message(path) == f"{_message(before)}{ONLINE_MESSAGE}"
    return before if is_second and before is not None else path


def _message(path: Path) -> str:
    text = path.read_text("utf-8")
    try:
        said = ast.get_docstring(ast.parse(text), clean=False) or ""
    except SyntaxError:  # the file may be half edited
        said = text.partition("\n")[0].strip('"')
    return said.partition("\n")[0]


def _joined(folder: Path) -> Iterator[str]:
    newest = newest_of(folder)
    if len(newest) > 1:
        names = " and ".join(sorted(file.name for file in newest))
        yield f"{names} were written beside each other: this file joins them."


def _revision(commands: AlembicCommands, message: str, folders: Sequence[Path]) -> object:
    folder = folders[-1]
    before = heads_of([folder])
    # The service's migrations have numbers. A project's migrations have timestamps and a separate branch, so that later
    # migrations of the service do not get between them. Migrations of other folders precede a project's, because its
    # new tables may refer to theirs.
    now = 0 if folder == VERSIONS else int(f"{datetime.now(UTC):%Y%m%d%H%M%S}")
    # A revision must be unique in the folders: two files may be written in one second.
    beside = folders[:1] if folder == VERSIONS else folders[1:]
    number = max(now, *(taken + 1 for each in beside for taken in (0, *numbers_of(each))))
    head: Any = before or "base"  # Alembic accepts several, and advanced-alchemy passes them on
    first: Any = [*([] if before else heads_of([VERSIONS])), *heads_of(folders[1:-1])]
    return commands.revision(
        " ".join(message.split()),
        autogenerate=True,
        rev_id=f"{number:04}",
        version_path=str(folder),
        head=head,
        depends_on=first or None,
    )
