"""A PostgreSQL server of a test's own, which it may stop, kill, delay and promote, and standbys of it.

PgBouncer of a test's own, before a PostgreSQL server of the test's own.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import asyncpg
import pytest

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


PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")

needs_pgbouncer = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed; no Python package brings it")


@dataclass
class PgBouncer:
    """``servers`` are the connections that it opens at most for a database and a user."""

    folder: Path
    server: PostgresServer
    mode: Literal["session", "transaction"]
    servers: int = 20
    options: str = ""
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    def url_of(self, database: str, user: str = OWNER) -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def start(self) -> "PgBouncer":
        assert PROGRAM is not None
        private_folder(self.folder)
        # Trust asks for the names of those it trusts.
        (self.folder / "users").write_text(f'"{OWNER}" ""\n"tenantry_login" ""\n')
        (self.folder / "ini").write_text(
            f"[databases]\n* = host=127.0.0.1 port={self.server.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
            f"listen_port = {self.port}\nunix_socket_dir =\nauth_type = trust\nauth_file = users\n"
            f"pool_mode = {self.mode}\ndefault_pool_size = {self.servers}\nmax_client_conn = 300\n{self.options}\n"
        )
        for name in ("users", "ini"):
            (self.folder / name).chmod(0o644)
        log = self.folder.parent / "log" / f"{self.folder.name}.log"
        self.process = start([PROGRAM, "-q", "ini"], self.folder, log, death=signal.SIGKILL)
        deadline = time.monotonic() + HUNG_AFTER
        while not self._answers():
            assert self.process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.01)
        return self

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(HUNG_AFTER)

    def _answers(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
            return True
        return False
