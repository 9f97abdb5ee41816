"""Files in DATA_DIR: the service's secret key, and the addresses of a running service's servers."""

import os
import secrets
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec
from msgspec import Struct

from entrypoints.settings.variables import SECRET_LENGTH, Secret
from entrypoints.terminal.errors import SETTINGS, CommandError, writing

MISSING = (
    "{file} is not there, and {database} was made with it: put the file back, or set TENANTRY_SECRET_KEY to what it"
    " held. To begin anew without its data, delete the folder {folder}."
)


class Running(Struct, frozen=True, kw_only=True):
    """A running service with embedded servers; a URL is ``None`` if the service's settings name that server."""

    pid: int
    base_url: str
    database_url: str | None
    redis_url: str | None
    owner_url: str | None = None


def secret_key(data_dir: Path) -> Secret:
    """Read the secret key in DATA_DIR, created by the first start before its database."""
    file, database = data_dir / "secret.key", data_dir / "postgres"
    with _usable(data_dir):
        if not file.exists():
            # Refuse to create a key for an existing database: a new key could not decrypt its data, and would prevent
            # restoring the old key file.
            if database.exists():
                raise CommandError(MISSING.format(file=file, database=database, folder=data_dir), SETTINGS)
            _write(file, secrets.token_urlsafe(48).encode(), replaces=False)
        key = file.read_bytes().decode(errors="replace").strip()
    # Never replace a damaged key file, because all data sealed with its key would be lost.
    if len(key) < SECRET_LENGTH:
        raise CommandError(
            f"{file} does not hold the key that it was made with: put it back, "
            "or nothing that is sealed with it can be read.",
            SETTINGS,
        )
    return Secret(key)


def ensure_usable(data_dir: Path) -> None:
    """Create a missing DATA_DIR. Raises CommandError if the folder is not writable."""
    with _usable(data_dir):
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=data_dir).close()


def _usable(data_dir: Path) -> AbstractContextManager[None]:
    remedy = "let TENANTRY_DATA_DIR be a folder in which this account may write"
    return writing(f"The folder {data_dir}, which is that of TENANTRY_DATA_DIR,", remedy)


def note_running(data_dir: Path, running: Running) -> None:
    with _usable(data_dir):
        _write(data_dir / "run.json", msgspec.json.encode(running), replaces=True)


def read_running(data_dir: Path) -> Running | None:
    """Return the recorded running service, or None. A killed service leaves its record: check DATA_DIR's lock."""
    try:
        return msgspec.json.decode((data_dir / "run.json").read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def forget_running(data_dir: Path) -> None:
    (data_dir / "run.json").unlink(missing_ok=True)


def _write(file: Path, content: bytes, *, replaces: bool) -> None:
    """Write the file atomically. Without ``replaces`` an existing file remains, even one created concurrently."""
    # Security: mkstemp creates mode 0600, so that only the service's account can read secrets.
    descriptor, name = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
    unfinished = Path(name)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())  # or a power cut could leave the name without the content
    if replaces:
        unfinished.replace(file)
        return
    try:
        file.hardlink_to(unfinished)  # unlike a rename, a link does not replace
    except FileExistsError:
        pass
    finally:
        unfinished.unlink()
