"""A PostgreSQL server of the test's own, which it may stop, kill and start again."""

import signal
import subprocess
import time
from pathlib import Path

import asyncpg

from adapters.embedded import postgres as embedded
from adapters.embedded.processes import Server, own_name, private_folder, run, start
from tests.entrypoints.processes import free_port

CONNECTIONS = 40
ENDS_WITHIN = 20.0


class PostgresServer:
    """Listens on a free port of this machine, which it keeps over restarts; everybody may log in as the owner."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o755)
        self._cluster = private_folder(folder / "cluster")
        self._log = folder / "log" / "postgres.log"
        self.port = free_port()
        self._server: Server | None = None
        where = ["-D", own_name(self._cluster), "-U", "owner", "-A", "trust", "--no-sync", "-E", "UTF8"]
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        run([embedded.postgres_program("initdb"), *where, *locale], self._cluster, self._log)

    @property
    def url(self) -> str:
        return f"postgresql://owner@127.0.0.1:{self.port}/postgres"

    def url_by(self, port: int, user: str) -> str:
        """The same database for ``user``, by way of another port."""
        return f"postgresql://{user}:secret@127.0.0.1:{port}/postgres"

    def start(self) -> None:
        settings = {"port": self.port, "max_connections": CONNECTIONS, "unix_socket_directories": "", "fsync": "off"}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command: list[str | Path] = [embedded.postgres_program("postgres"), "-D", own_name(self._cluster), *words]
        process = start(command, self._cluster, self._log, death=signal.SIGQUIT)
        self._server = Server("PostgreSQL", process, self._log, embedded.ENDINGS)
        pid_file = self._cluster / "postmaster.pid"
        self._server.await_ready(lambda: embedded._says_ready(pid_file, process.pid), 60)

    def end(self, how: signal.Signals) -> None:
        """SIGINT ends it in order, SIGQUIT at once; SIGKILL leaves its children to notice it."""
        assert self._server is not None
        process, self._server = self._server.process, None
        process.send_signal(how)
        try:
            process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        deadline = time.monotonic() + ENDS_WITHIN
        while how == signal.SIGKILL and _children_work_in(self._cluster):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def close(self) -> None:
        if self._server is not None:
            self._server.stop()

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        return await asyncpg.connect(self.url, server_settings={"tenantry.scope": "every", "application_name": "test"})

    async def ask(self, statement: str, *arguments: object) -> list[asyncpg.Record]:
        connection = await self.connect()
        try:
            return await connection.fetch(statement, *arguments)
        finally:
            await connection.close()


def _children_work_in(cluster: Path) -> bool:
    from adapters.embedded.processes import _running_in

    return any(_running_in(cluster, {"postgres"}))
