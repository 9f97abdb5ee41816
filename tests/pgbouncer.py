"""PgBouncer of a test's own, before a PostgreSQL server of the test's own."""

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from adapters.embedded.processes import private_folder, start
from tests.postgres_server import OWNER, PostgresServer, free_port
from tests.waiting import HUNG_AFTER

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
