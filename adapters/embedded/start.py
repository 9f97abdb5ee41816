"""Startup and shutdown of the embedded servers."""

import fcntl
import os
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from adapters.embedded.errors import DataDirInUse, EmbeddedUnavailable
from adapters.embedded.postgres import start_postgres
from adapters.embedded.processes import private_folder
from adapters.embedded.valkey import start_valkey


@dataclass(frozen=True)
class EmbeddedServices:
    """URLs of the running servers for asyncpg and redis-py; `None` for a server that was not requested.

    `owner_url` logs in as the database owner, `database_url` as a role that the owner must create.
    """

    database_url: str | None
    owner_url: str | None
    redis_url: str | None
    _started: ExitStack

    def stop(self) -> None:
        """Stop the servers within half a minute; a second call does nothing."""
        self._started.close()


def start_embedded(data_dir: Path, *, postgres: bool, valkey: bool, durable: bool) -> EmbeddedServices:
    """Start the requested servers. Raises DataDirInUse, EmbeddedUnavailable.

    Call this from the main thread: on Linux the servers end with their starting thread. `durable=False` is for tests: a
    power cut loses data.
    """
    if not postgres and not valkey:
        return EmbeddedServices(None, None, None, ExitStack())
    with ExitStack() as started:
        try:
            return _start(data_dir.resolve(), started, postgres=postgres, valkey=valkey, durable=durable)
        except OSError as error:
            raise EmbeddedUnavailable(f"The embedded servers could not be started: {error}.") from error


def _start(data_dir: Path, started: ExitStack, *, postgres: bool, valkey: bool, durable: bool) -> EmbeddedServices:
    lock = _claim(data_dir)
    started.callback(os.close, lock)
    sockets = _socket_folder(data_dir)
    started.callback(shutil.rmtree, sockets, ignore_errors=True)
    database_url = owner_url = redis_url = None
    if postgres:
        server, database_url, owner_url = start_postgres(data_dir, sockets, durable=durable)
        started.callback(server.stop)
    if valkey:
        server, redis_url = start_valkey(data_dir, sockets)
        started.callback(server.stop)
    return EmbeddedServices(database_url, owner_url, redis_url, started.pop_all())


def _claim(data_dir: Path) -> int:
    """Locks the folder and returns the lock's descriptor. Raises DataDirInUse."""
    # Use flock: the kernel releases it however this process ends.
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 32).decode().strip()
        os.close(lock)
        raise DataDirInUse(data_dir, holder) from None
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
    return lock


def _socket_folder(data_dir: Path) -> Path:
    # A socket path is limited to 107 bytes, so use /tmp. The note records the path.
    note = data_dir / "sockets"
    if note.exists() and Path(note.read_text()).name.startswith("tenantry-"):
        shutil.rmtree(note.read_text(), ignore_errors=True)
    sockets = private_folder(Path(tempfile.mkdtemp(prefix="tenantry-", dir="/tmp")))
    note.write_text(str(sockets))
    return sockets
