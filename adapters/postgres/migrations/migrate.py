"""Upgrades, and migrations written from declarations."""

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

from adapters.postgres.migrations.commands import LockPatience, apply_command, run_command
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
    """Result of ``write_migration``: the new file, and notes on what it leaves alone or leaves to a person.

    ``after`` is the file behind it, which is applied beside reads and writes, where the change needs two.
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
    """Applies all migrations, and returns sentences about what no migration makes yet.

    Those between files that are applied beside reads and writes are applied together or not at all. Where a table is in
    use, they are rolled back and tried again, as ``patience`` says. ``tell`` is called with the numbers of files that
    are applied and that are to be applied, after each one.

    Raises InconsistentMigrations, and MigrationRefused with the name of a file that cannot be applied.
    """
    ensure_consistent(folders)

    def apply(commands: AlembicCommands, connection: Connection, limit_waiting: Callable[[bool], None]) -> None:
        apply_pending(commands, connection, limit_waiting, tell)

    await apply_command(url, metadata_for(registry), folders, apply, patience)
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
    url: str,
    registry: Registry,
    message: str,
    folders: Sequence[Path] = (VERSIONS,),
    renamed: Sequence[str] = (),
    patience: LockPatience = _PATIENCE,
) -> WrittenMigration | None:
    """Writes a migration for what is declared beyond all files into the last folder, and changes no database.

    ``renamed`` are fields and entities with a new name: ``["code=sku", "books.code=sku", "books=titles"]``. Returns
    None when there is nothing to write. Raises InconsistentMigrations, and MigrationRefused also while tables are in
    use for long.
    """
    ensure_consistent(folders)
    metadata, kept = metadata_for(registry), kept_members(folders)

    def write(commands: AlembicCommands, connection: Connection, limit_waiting: Callable[[bool], None]) -> object:
        commands.config.cmd_opts = Namespace(quiet=True)  # else Alembic prints the path past our own message
        attributes = commands.config.attributes
        # Renames and pending files lock tables, which others would wait for behind the lock that waits itself.
        limit_waiting(True)
        # What other files change is there while this one is written, and is rolled back with everything else.
        commands.upgrade("heads")
        attributes["first"] = renames(connection, registry, metadata, renamed)
        ensure_possible(connection, registry)
        # in front of everything else, and behind the renames: the columns have their new names and their old values
        attributes["first"] = [
            *attributes["first"],
            *guards(connection, registry),
            *mappings(connection, registry, kept),
        ]
        attributes["choices"] = {
            (model.table, field.name): field.choices for model in registry for field in model.declared if field.choices
        }
        attributes["last"] = [
            *replaced_indexes(connection, registry, metadata),
            *search_indexes(connection, registry),
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
    """Deletes the newest migration of the last folder, which no database that it knows of has. Raises MigrationRefused.

    Returns its files, one or two, in the order in which they would have been applied.
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
    """Undoes the newest applied migration of the last folder. Raises MigrationRefused.

    Returns the files that are undone, one or two, in the order in which they had been applied.
    """
    ensure_consistent(folders)
    folder, applied = folders[-1], await applied_versions(url)
    # the database names its newest revision alone: where that is the second file, the first is applied as well
    lines = [(file, _first_of(file, folder)) for file in newest_of(folder) if folder != VERSIONS]
    done = next(
        ([first, file] if file != first else [file] for file, first in lines if revision_of(file) in applied), []
    ) or next(([first] for _, first in lines if revision_of(first) in applied), [])
    if not done:
        raise MigrationRefused("The newest migration of your own is not applied: there is nothing to undo.")
    before = parents(done[0].read_text("utf-8"))
    # a step back from a file that joins two lines would be one of two: it goes to the end of both
    target = before[0] if len(before) > 1 else f"-{len(done)}"

    def undo(commands: AlembicCommands, connection: Connection, limit_waiting: Callable[[bool], None]) -> None:
        limit_waiting(False)
        commands.downgrade(f"{revision_of(done[-1])}@{target}")
        connection.commit()

    await apply_command(url, metadata_for(registry), folders, undo, _PATIENCE)
    return done


def _first_of(path: Path, folder: Path) -> Path:
    """The file itself, or the one in front of it where it is the second of a migration."""
    before = file_before(folder, path)
    is_second = before is not None and _message(path) == f"{_message(before)}{ONLINE_MESSAGE}"
    return before if is_second and before is not None else path


def _message(path: Path) -> str:
    text = path.read_text("utf-8")
    try:
        said = ast.get_docstring(ast.parse(text), clean=False) or ""
    except SyntaxError:  # a person may have left it half edited
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
    # Our migrations are numbered, those of users have the time. Users' are a line of their own, which starts at the
    # last of ours: later ones of ours do not come between them. Those of other folders that are there come before, for
    # a new table may refer to theirs.
    now = 0 if folder == VERSIONS else int(f"{datetime.now(UTC):%Y%m%d%H%M%S}")
    # of no folder a revision twice: two may be written in one second
    beside = folders[:1] if folder == VERSIONS else folders[1:]
    number = max(now, *(taken + 1 for each in beside for taken in (0, *numbers_of(each))))
    head: Any = before or "base"  # Alembic takes several, which advanced-alchemy passes on
    first: Any = [*([] if before else heads_of([VERSIONS])), *heads_of(folders[1:-1])]
    return commands.revision(
        " ".join(message.split()),
        autogenerate=True,
        rev_id=f"{number:04}",
        version_path=str(folder),
        head=head,
        depends_on=first or None,
    )
