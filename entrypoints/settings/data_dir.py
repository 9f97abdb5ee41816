"""Files of the service itself in DATA_DIR: its secret key, and where the servers of a running one answer."""

import os
import secrets
import tempfile
from pathlib import Path

import msgspec
from msgspec import Struct

from entrypoints.cli.errors import SETTINGS, CommandError
from entrypoints.settings.variables import SECRET_LENGTH, Secret


class Running(Struct, frozen=True, kw_only=True):
    """A service that owns embedded servers; ``None`` for a URL that its settings gave."""

    pid: int
    base_url: str
    database_url: str | None
    redis_url: str | None


def secret_key(data_dir: Path) -> Secret:
    """Secret key in DATA_DIR, made at the first start."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = data_dir / "secret.key"
    if not file.exists():
        _write(file, secrets.token_urlsafe(48).encode(), replaces=False)
    key = file.read_text().strip()
    if len(key) < SECRET_LENGTH:
        raise CommandError(
            f"{file} does not hold the key that it was made with: put it back, "
            "or nothing that is sealed with it can be read.",
            SETTINGS,
        )
    return Secret(key)


def note_running(data_dir: Path, running: Running) -> None:
    _write(data_dir / "run.json", msgspec.json.encode(running), replaces=True)


def read_running(data_dir: Path) -> Running | None:
    """None when nothing is noted; whether it still runs is for the lock on DATA_DIR to say."""
    try:
        return msgspec.json.decode((data_dir / "run.json").read_bytes(), type=Running)
    except (FileNotFoundError, msgspec.DecodeError):
        return None


def forget_running(data_dir: Path) -> None:
    (data_dir / "run.json").unlink(missing_ok=True)


def _write(file: Path, content: bytes, *, replaces: bool) -> None:
    """Whole or not at all, readable by nobody else; of several at once that do not replace, the first stays."""
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
        file.hardlink_to(unfinished)  # fails where the file exists, in one step
    except FileExistsError:
        pass
    finally:
        unfinished.unlink()
