"""Check of a database against the declarations, in a few statements and without Alembic."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import asyncpg

from adapters.postgres.backup.replaced_objects import Left, left_by_restore
from adapters.postgres.connection.connecting import connected
from adapters.postgres.schema.copies import copy_columns
from adapters.postgres.schema.links import tables_of
from adapters.postgres.schema.row_security import ROLE
from domain.entities.declaration import EntityModel, Registry

VERSIONS = Path(__file__).parent / "versions"

_REVISION = re.compile(r"^revision = ['\"](\w+)['\"]", re.MULTILINE)
_OWN = re.compile(r"[0-9]{4}")
_FOLLOWS = re.compile(r"^(?:down_revision|depends_on) = (\([^)]*\)|.*)", re.MULTILINE)
_PARENTS = re.compile(r"^down_revision = (\([^)]*\)|.*)", re.MULTILINE)
_NAMED = re.compile(r"['\"](\w+)['\"]")
_NUMBER = re.compile(r"^[0-9]+")
_VERSIONS = "SELECT version_num FROM alembic_version"
# A login without direct rights reads the version as the service.
_AS_SERVICE = """
SELECT set_config('role', rolname, false) FROM pg_roles
WHERE rolname = $1 AND pg_has_role(session_user, rolname, 'MEMBER')
AND NOT has_table_privilege(to_regclass('alembic_version'), 'SELECT')"""
_COLUMNS = """
SELECT c.relname AS table, array_agg(a.attname::text) AS columns
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relname = ANY ($1) AND c.relkind IN ('r', 'p') AND pg_table_is_visible(c.oid)
AND a.attnum > 0 AND NOT a.attisdropped GROUP BY 1"""

_FIRST_TABLES = ("users", "tenants", "roles", "permissions", "memberships", "categories", "products", "reviews")
"""Tables of the first migrations with common names, so another application may have them too."""
_OTHERS = """
SELECT relname::text FROM pg_class
WHERE relname = ANY ($1) AND relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(oid)
AND to_regclass('signing_keys') IS NULL ORDER BY 1"""


class InconsistentMigrations(Exception):
    """Inconsistent migration files; ``mistakes`` has a sentence per fault."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("; ".join(mistakes))


class MigrationRefused(Exception):
    """Reason why Alembic does not run a command, such as a revision without a file."""


_STATE = "SELECT to_regclass('alembic_version') IS NOT NULL, to_regnamespace('tenantry_before_restore') IS NOT NULL"


async def pending(url: str, registry: Registry, folders: Sequence[Path] = (VERSIONS,)) -> list[str]:
    """Return sentences about missing objects; none if the service can start.

    Raises InconsistentMigrations.
    """
    ensure_consistent(folders)
    async with connected(url) as connection:
        await connection.execute(_AS_SERVICE, ROLE)
        return await pending_on(connection, registry, folders)


async def pending_on(
    connection: "asyncpg.Connection[asyncpg.Record]", registry: Registry, folders: Sequence[Path] = (VERSIONS,)
) -> list[str]:
    heads = heads_of(folders)
    # One statement for both, because each start runs it.
    is_migrated, is_aside = await connection.fetchrow(_STATE) or (False, False)
    if is_aside:
        return [(await left_by_restore(connection)).sentence]
    if not is_migrated:
        return [f"The database is empty: migrations up to {', '.join(heads)} are pending."]
    versions = {row["version_num"] for row in await connection.fetch(_VERSIONS)}
    if lost := unknown_to(versions, folders):
        return [unknown_sentence(lost)]
    if versions != set(heads):
        return [f"The database is at migration {', '.join(sorted(versions))}, and {', '.join(heads)} is pending."]
    rows = await connection.fetch(_COLUMNS, [name for model in registry.stored for name in tables_of(model)])
    return list(_undeclared(registry, {row["table"]: row["columns"] for row in rows}))


async def applied_versions(url: str) -> list[str]:
    """Return the newest applied revision of each branch; none for an empty database.

    Raises MigrationRefused after an interrupted restore, because it hides tables or other objects.
    """
    async with connected(url) as connection:
        if (left := await left_by_restore(connection)) is not Left.NOTHING:
            raise MigrationRefused(left.sentence)
        await connection.execute(_AS_SERVICE, ROLE)
        if not await connection.fetchval("SELECT to_regclass('alembic_version') IS NOT NULL"):
            return []
        return sorted(row["version_num"] for row in await connection.fetch(_VERSIONS))


async def tables_of_others(url: str, versions: Sequence[str]) -> list[str]:
    """Return another application's tables with required names, if no file has these applied ``versions``."""
    async with connected(url) as connection:
        names = [*_FIRST_TABLES, *(["alembic_version"] if versions else [])]
        return [row["relname"] for row in await connection.fetch(_OTHERS, names)]


def unknown_to(versions: Iterable[str], folders: Sequence[Path]) -> list[str]:
    """Return the database's revisions without a file."""
    texts = [file.read_text("utf-8") for folder in folders for file in folder.glob("[0-9]*.py")]
    return sorted(set(versions) - {found[1] for text in texts if (found := _REVISION.search(text))})


def made_by_newer(lost: Sequence[str]) -> list[str]:
    """Return revisions of a newer version of the service: without a file, with four digits."""
    return [revision for revision in lost if _OWN.fullmatch(revision)]


def unknown_sentence(lost: Sequence[str]) -> str:
    if newer := made_by_newer(lost):
        return (
            f"A newer version of Tenantry migrated the database: this one has no migration {', '.join(newer)}. Start"
            " that version or a newer one; the way back to this one is the backup from before (docs/operate.md)."
        )
    return (
        f"The database was migrated with files that TENANTRY_ENTITIES does not name now: no migration has the revision "
        f"{', '.join(lost)}."
    )


def file_of(folder: Path, revision: str) -> Path:
    """Return the file of a revision in the folder."""
    files = sorted(folder.glob("[0-9]*.py"))
    return next(file for file in files if (found := _REVISION.search(file.read_text("utf-8"))) and found[1] == revision)


def revision_of(path: Path) -> str:
    """Return the revision of a file; empty if it names none. It may differ from the file name's."""
    found = _REVISION.search(path.read_text("utf-8"))
    return found[1] if found else ""


def followed(text: str) -> list[str]:
    """Return the revisions to apply before a file, in its own and other folders."""
    return [name for names in _FOLLOWS.findall(text) for name in _NAMED.findall(names)]


def parents(text: str) -> list[str]:
    """Return the revisions that a file follows in its own branch: two revisions if the file joins branches."""
    return [name for names in _PARENTS.findall(text) for name in _NAMED.findall(names)]


def newest_of(folder: Path) -> list[Path]:
    """Return the folder's files without a successor, newest first: two after a merge of branches."""
    files = [file_of(folder, revision) for revision in heads_of([folder])]
    return sorted(files, key=lambda file: (int(_NUMBER.findall(file.name)[0]), file.name), reverse=True)


def numbers_of(folder: Path) -> list[int]:
    """Return the numbers in the files' names and numeric revisions."""
    files = sorted(folder.glob("[0-9]*.py"))
    revisions = [revision for revision in map(revision_of, files) if revision.isdecimal()]
    return [int(number) for number in (*revisions, *(_NUMBER.findall(file.name)[0] for file in files))]


def file_before(folder: Path, path: Path) -> Path | None:
    """Return the file of the preceding revision of ``path``, if in the same folder."""
    follows = set(followed(path.read_text("utf-8")))
    files = sorted(folder.glob("[0-9]*.py"))
    return next(
        (file for file in files if (found := _REVISION.search(file.read_text("utf-8"))) and found[1] in follows), None
    )


def ensure_consistent(folders: Sequence[Path]) -> None:
    """Raise InconsistentMigrations if two files have the same revision, or if one follows an unknown revision."""
    files = {file: file.read_text("utf-8") for folder in folders for file in sorted(folder.glob("[0-9]*.py"))}
    names: dict[str, list[Path]] = {}
    for file, text in files.items():
        if found := _REVISION.search(text):
            names.setdefault(found[1], []).append(file)
    twice = [
        f"The revision {name} is in {' and in '.join(map(str, same))}." for name, same in names.items() if len(same) > 1
    ]
    lost = [
        f"{file} follows {name}, which is in no file."
        for file, text in files.items()
        for name in followed(text)
        if name not in names
    ]
    if twice or lost:
        raise InconsistentMigrations([*twice, *lost])


def heads_of(folders: Sequence[Path]) -> list[str]:
    """Return the newest revisions: the last of the service's migrations, and of the entities'."""
    texts = [file.read_text("utf-8") for folder in folders for file in folder.glob("[0-9]*.py")]
    revisions = {found[1] for text in texts if (found := _REVISION.search(text))}
    return sorted(revisions.difference(*map(followed, texts)))


def _undeclared(registry: Registry, stored: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for model in registry.stored:
        if missing := [name for name in tables_of(model) if name not in stored]:
            yield f"{model.name}: no migration makes the table {' or '.join(missing)}."
        elif missing := sorted(_columns(model) - set(stored[model.table])):
            yield f"{model.name}: no migration makes the columns {', '.join(missing)} of {model.table}."


def _columns(model: EntityModel) -> set[str]:
    names = {field.name for field in model.fields if field.link is None}
    names |= {"tenant_id"} if model.tenant_owned else set()
    copies = {column.name for column in copy_columns(model)}
    return names | copies | ({"deleted_with"} if "is_deleted" in names else set())
