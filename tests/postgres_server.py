"""A PostgreSQL server of a test's own, which it may stop, kill, delay and promote, and standbys of it."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import asyncpg

from adapters.embedded.postgres import postgres_program
from adapters.embedded.processes import own_name, private_folder, run, start
from tests.entrypoints.processes import descendants
from tests.waiting import HUNG_AFTER

OWNER = "tenantry"
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "off",
    "wal_level": "replica",
    "max_wal_senders": "8",
    "wal_keep_size": "256MB",
    "shared_buffers": "32MB",
    "max_connections": "120",
    "timezone": "UTC",
    "wal_receiver_status_interval": "100ms",
    "wal_retrieve_retry_interval": "100ms",
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        found: int = probe.getsockname()[1]
        return found


@dataclass
class PostgresServer:
    """Listens on a port of its own, which it keeps over restarts. ``name`` is what a primary knows a standby by."""

    folder: Path
    name: str
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return self.url_of("postgres")

    def url_of(self, database: str, user: str = OWNER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def make(self) -> "PostgresServer":
        """An empty cluster, of which everybody on this machine is let in."""
        private_folder(self.folder)
        where = ["-D", own_name(self.folder), "-U", OWNER, "-A", "trust", "--no-sync", "-E", "UTF8"]
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        run([postgres_program("initdb"), *where, *locale], self.folder, self._log)
        return self

    def standby(self, folder: Path, name: str) -> "PostgresServer":
        """A copy of this server, which follows it once it is started."""
        return self.copy(folder, name, "-R")

    def copy(self, folder: Path, name: str, *more: str) -> "PostgresServer":
        """A server with the same data, which stands alone."""
        made = PostgresServer(private_folder(folder), name)
        source = ["-h", "127.0.0.1", "-p", str(self.port), "-U", OWNER]
        options = ["-c", "fast", "--no-sync", "-X", "stream", *more]
        run([postgres_program("pg_basebackup"), *source, "-D", own_name(folder), *options], folder, made._log)
        return made

    def start(self, **settings: str) -> "PostgresServer":
        given = SETTINGS | {"port": str(self.port), "cluster_name": self.name} | settings
        words = [word for name, value in given.items() for word in ("-c", f"{name}={value}")]
        command: list[str | Path] = [postgres_program("postgres"), "-D", own_name(self.folder), *words]
        self.process = start(command, self.folder, self._log, death=signal.SIGINT)
        self._await(lambda: self._says("ready") or self._says("standby"))
        return self

    def send(self, number: signal.Signals) -> None:
        """To the postmaster; SIGSTOP and SIGCONT go to all processes of the server."""
        assert self.process is not None
        if number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in (self.process.pid, *descendants(self.process.pid)):
                with suppress(ProcessLookupError):
                    os.kill(pid, number)
        else:
            self.process.send_signal(number)

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Ends the server at once, as a crash does."""
        if self.process is not None:
            self.send(signal.SIGCONT)
            self.process.send_signal(how)
            self.process.wait(HUNG_AFTER)
            self.process = None

    async def run(self, statement: str, *arguments: object, database: str = "postgres") -> object:
        connection = await asyncpg.connect(self.url_of(database))
        try:
            return await connection.fetchval(statement, *arguments)
        finally:
            await connection.close()

    async def promote(self) -> None:
        assert await self.run("SELECT pg_promote()")

    @property
    def _log(self) -> Path:
        return self.folder.parent / "log" / f"{self.name}.log"

    def _says(self, state: str) -> bool:
        try:
            lines = (self.folder / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        assert self.process is not None
        return len(lines) > 7 and lines[0] == str(self.process.pid) and lines[7].strip() == state

    def _await(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + HUNG_AFTER
        while not holds():
            assert self.process is not None
            assert self.process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.005)
