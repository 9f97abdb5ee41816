"""``tenantry backup`` and ``tenantry restore``: a folder with a database dump and its description."""

import asyncio
import hashlib
import hmac
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import msgspec
from msgspec import Struct

from adapters.embedded.postgres import client_programs
from adapters.postgres.backup.dumps import (
    DumpedDatabase,
    DumpFailed,
    RestoreAtWork,
    RestoreLeft,
    dump,
    dumped_database,
    finish,
    replacing,
    restore,
    undo,
)
from adapters.postgres.backup.programs import NoProgram
from adapters.postgres.backup.replaced_objects import Left
from adapters.postgres.migrations.pending import VERSIONS, applied_versions, heads_of, unknown_to
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.forgetting import forget_everything
from adapters.redis.shared_pipeline import SharedPipeline
from adapters.system import SystemClock
from application.entities.attachments.consistency import Comparison
from application.operations.job_results import JobResults
from domain.errors import ServiceUnavailable
from entrypoints.assembly.entities import load_registry, migration_folders
from entrypoints.assembly.migrations import ensure_login
from entrypoints.cli.attachments.backups import FilesOfBackup, copy_files, restore_files
from entrypoints.cli.attachments.comparing import data_of, described
from entrypoints.settings.settings import Settings
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import IN_USE, MIGRATIONS, SETTINGS, UNAVAILABLE, CommandError, writing
from entrypoints.terminal.progress import counter

FORMAT = 1
DUMP, DESCRIPTION = "database.dump", "backup.json"
NO_BACKUP = "{folder} is no backup: {why}. A backup is a folder with the files {dump} and {description}."
NOTHING_THERE = (
    "The database has no tables of Tenantry, and nothing was written: name another one by TENANTRY_DATABASE_URL or"
    " TENANTRY_DATA_DIR, or run `tenantry migrate` first."
)
LACKING = "The database is restored, and files are not as it says: only another backup has the contents."
NO_FILES = "The database is restored, but the contents of its files are not: restore again with --replace."
WAY_ON = "Start the service again: sessions and keys are those of the time of the backup."


class Backup(Struct, frozen=True, forbid_unknown_fields=True):
    """Description of a backup, stored next to the dump.

    ``secret`` identifies the secret key without revealing it; ``sha256`` is the hash of the dump.
    """

    format: int
    version: str
    made_at: datetime
    postgres: int
    revisions: list[str]
    secret: str
    size: int
    sha256: str
    files: FilesOfBackup | None = None


async def make_backup(settings: Settings, folder: Path) -> str:
    with _complete_or_absent(folder) as unfinished:
        async with _told():
            database = await dumped_database(settings.owner_url)
            revisions = await applied_versions(settings.owner_url)
            if not revisions:
                raise CommandError(NOTHING_THERE, MIGRATIONS)
            with counter("Writing", "tables") as name:
                await dump(settings.owner_url, unfinished / DUMP, _programs(), _tables(name))
            with counter("Copying", "files") as name:
                files = await copy_files(settings, unfinished, name)
        with writing(folder, "make room there, or name another folder"):
            size = _describe(unfinished, settings, database.major, revisions, files)
    await _record(settings, size + files.bytes)
    written = f"Written: {folder} ({size + files.bytes:,} bytes)."
    text = f"{written} TENANTRY_SECRET_KEY is not in it, and is needed to use it."
    if files.files:
        text += f" It has the contents of {files.files} files."
    if files.url is not None:
        text += f" The contents of files are not in it, but in {files.url}: back them up there."
    data = {"folder": folder, "size": size, "postgres": database.major, "revisions": revisions, "files": files}
    return Answer(text, data)


async def _record(settings: Settings, size: int) -> None:
    """Record the backup for the report of the service, which omits it if Redis does not answer."""
    assert settings.redis_url is not None
    pipeline = SharedPipeline(redis_client(settings.redis_url.reveal()))
    try:
        await JobResults(RedisCache(pipeline, prefix=settings.redis_prefix), SystemClock()).record("backup", size)
    finally:
        await pipeline.close()


@contextmanager
def _complete_or_absent(folder: Path) -> Iterator[Path]:
    """Yield a folder, renamed to ``folder`` on success. Raises CommandError if ``folder`` exists."""
    remedy = "name a new folder where this account may write"
    with writing(folder, remedy):
        if folder.exists():
            raise CommandError(f"{folder} is there already, and nothing was written: name a new folder.", SETTINGS)
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Rename when complete, so that a failed command leaves no partial backup.
        unfinished = Path(tempfile.mkdtemp(prefix=f"{folder.name}.unfinished-", dir=folder.parent))
    try:
        yield unfinished
        with writing(folder, remedy):
            unfinished.rename(folder)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise


def _describe(folder: Path, settings: Settings, postgres: int, revisions: list[str], files: FilesOfBackup) -> int:
    """Write the description of the backup, and return the size of the dump."""
    size = (folder / DUMP).stat().st_size
    made = Backup(
        format=FORMAT,
        version=version("tenantry"),
        made_at=datetime.now(UTC),
        postgres=postgres,
        revisions=revisions,
        secret=_fingerprint(settings),
        size=size,
        sha256=_sha256(folder / DUMP),
        files=files,
    )
    (folder / DESCRIPTION).write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=2))
    # Security: the dump contains personal data and password hashes, so only its owner may read it.
    (folder / DUMP).chmod(0o600)
    return size


async def restore_backup(settings: Settings, folder: Path, *, replace: bool) -> str:
    # Read and hash the dump first, so that a damaged backup changes nothing.
    backup = await asyncio.to_thread(_read, folder)
    _ensure_known(settings, backup)
    async with _told(), AsyncExitStack() as stack:
        database = await dumped_database(settings.owner_url)
        if backup.postgres > database.major:
            raise CommandError(
                f"The backup was made of PostgreSQL {backup.postgres}, and the server is PostgreSQL {database.major}, "
                f"which reads no dump of a newer one. Name a server of version {backup.postgres} or newer.",
                SETTINGS,
            )
        _ensure_unserved(database)
        if database.left is not Left.NOTHING and not replace:
            raise RestoreLeft(database.left)
        if database.relations and not replace:
            raise CommandError(
                "The database is not empty, and nothing was changed. With --replace its content is deleted once the"
                " backup is in its place.",
                IN_USE,
            )
        if replace:
            await stack.enter_async_context(replacing(settings.owner_url))
        with counter("Reading", "tables") as name:
            await restore(settings.owner_url, folder / DUMP, _programs(), _tables(name))
    # The service's login belongs to the server and is not in a dump.
    await ensure_login(settings)
    notes = await _notes(settings, backup)
    files = await _restored_files(settings, backup, folder)
    data: dict[str, object] = {"folder": folder, "madeAt": backup.made_at, "version": backup.version, "notes": notes}
    lines = [f"Restored: {folder}, of {backup.made_at:%Y-%m-%d %H:%M} UTC.", *notes]
    if files is not None:
        lines += described(files)
        data["files"] = data_of(files)
    if files is not None and not files.is_whole:
        raise CommandError("\n".join([*lines, LACKING]), data=data)
    return Answer("\n".join(lines), data)


async def _restored_files(settings: Settings, backup: Backup, folder: Path) -> Comparison | None:
    """Restore the contents of files; return the result of the comparison, None without files."""
    registry = load_registry(settings.entities)
    if backup.files is None or not (backup.files.files or any(model.attachments for model in registry)):
        return None
    try:
        # The fields of older tables are not those that are declared.
        return await restore_files(settings, registry, backup.files, folder, compares=_is_current(settings, backup))
    except ServiceUnavailable as error:
        raise CommandError(f"{NO_FILES} ({error.__cause__ or error})", UNAVAILABLE) from None


async def end_restore(settings: Settings, *, undoes: bool) -> str:
    """Undo an interrupted restore, or finish it if the backup is complete."""
    async with _told():
        _ensure_unserved(await dumped_database(settings.owner_url))
        await (undo if undoes else finish)(settings.owner_url)
    await ensure_login(settings)
    notes = await _forgetting(settings)
    done = (
        "Undone: what was there before the restore is back."
        if undoes
        else "Finished: what was there before is deleted."
    )
    return Answer("\n".join([done, *notes]), {"undone": undoes, "notes": notes})


def _ensure_unserved(database: DumpedDatabase) -> None:
    if database.services:
        raise CommandError("A service works with this database: stop it first, all its replicas.", IN_USE)


def _is_current(settings: Settings, backup: Backup) -> bool:
    return sorted(backup.revisions) == sorted(heads_of(_folders(settings)))


async def _notes(settings: Settings, backup: Backup) -> list[str]:
    notes = []
    if not _is_current(settings, backup):
        notes.append("It is of an older version: migrations are pending, which `tenantry migrate` applies.")
    if backup.secret != _fingerprint(settings):
        notes.append("TENANTRY_SECRET_KEY is not that of the backup: the service cannot open its keys with this one.")
    return [*notes, *await _forgetting(settings), WAY_ON]


async def _forgetting(settings: Settings) -> list[str]:
    """Clear Redis; return a note if it does not answer."""
    assert settings.redis_url is not None
    # Token versions of the replaced database are higher, and would refuse every new token.
    if await forget_everything(settings.redis_url.reveal(), settings.redis_prefix):
        return []
    return ["Redis does not answer: delete the service's keys there, which belong to the replaced database."]


def _read(folder: Path) -> Backup:
    """Return the description of a backup. Raises CommandError for an incomplete dump."""

    def refused(why: str) -> CommandError:
        return CommandError(NO_BACKUP.format(folder=folder, why=why, dump=DUMP, description=DESCRIPTION), SETTINGS)

    try:
        backup = msgspec.json.decode((folder / DESCRIPTION).read_bytes(), type=Backup)
        if _sha256(folder / DUMP) != backup.sha256:
            raise refused(f"{DUMP} was changed or is cut off")
    except OSError as error:
        raise refused(f"{error.filename}: {error.strerror}") from None
    except msgspec.MsgspecError as error:
        raise refused(f"{DESCRIPTION}: {error}") from None
    if backup.format != FORMAT:
        raise refused(f"its format is {backup.format}, and this version reads {FORMAT}")
    return backup


def _ensure_known(settings: Settings, backup: Backup) -> None:
    if lost := unknown_to(backup.revisions, _folders(settings)):
        raise CommandError(
            f"The backup was made by Tenantry {backup.version} with migrations that are not here: {', '.join(lost)}. "
            "Install that version or a newer one, and name the same TENANTRY_ENTITIES.",
            MIGRATIONS,
        )


def _folders(settings: Settings) -> tuple[Path, ...]:
    return (VERSIONS, *migration_folders(settings.entities))


def _programs() -> list[Path]:
    embedded = client_programs()
    return [] if embedded is None else [embedded]


def _fingerprint(settings: Settings) -> str:
    assert settings.secret_key is not None
    # Security: this short digest can distinguish keys, but an attacker cannot derive a key from it.
    return hmac.digest(settings.secret_key.reveal().encode(), b"tenantry backup", "sha256").hex()[:16]


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _tables(name: Callable[[str], None]) -> Callable[[str], None]:
    """Pass the table named in output of pg_dump or pg_restore to ``name``."""

    def tell(line: str) -> None:
        if "dumping contents" in line or "processing data" in line:
            name(line.rpartition(" ")[2].strip('"'))

    return tell


@asynccontextmanager
async def _told() -> AsyncIterator[None]:
    try:
        yield
    except NoProgram as missing:
        raise CommandError(str(missing), SETTINGS) from None
    except RestoreLeft as left:
        raise CommandError(str(left), IN_USE) from None
    except RestoreAtWork:
        raise CommandError("Another restore works with this database: wait until it has ended.", IN_USE) from None
    except DumpFailed as failure:
        raise CommandError(f"PostgreSQL's program failed, and nothing was changed:\n{failure}", UNAVAILABLE) from None
