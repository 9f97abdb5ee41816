"""Two processes of the service with servers of their own, each of which a test may end, slow down and start again."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.entrypoints.pair import Client, Wire
from tests.entrypoints.processes import COMMAND, PASSWORD, Served, descendants, environment, free_port, is_gone
from tests.faults.postgres_server import PostgresServer
from tests.servers.redis_servers import RedisServer

RECOVERED_WITHIN = 5.0
"""Seconds from the end of a fault to the first good answer of every kind."""

WORKS_AGAIN_WITHIN = 60.0
CONNECTIONS = 6


class Process:
    """``tenantry serve`` on a port that it keeps, in a session of its own; what it says is read all the time."""

    def __init__(self, folder: Path, variables: dict[str, str], command: Sequence[str] = COMMAND) -> None:
        self._folder, self._port, self._command = folder, str(free_port()), command
        self._variables = {**variables, "PORT": self._port}
        self.said: list[str] = []
        self.worker_killed_at = 0.0
        self.url = f"http://127.0.0.1:{self._port}"
        self._served: Served | None = None

    def start(self) -> None:
        process = subprocess.Popen(
            [*self._command, "serve", "--allow-superuser"],
            cwd=self._folder,
            env=environment(self._variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._served = Served(process, self.url, self.said).await_ready()
        threading.Thread(target=self._read, args=(process,), daemon=True).start()

    @property
    def served(self) -> Served:
        assert self._served is not None
        return self._served

    @property
    def pid(self) -> int:
        return self.served.process.pid

    def open_files(self) -> int:
        """Of all its processes, those that end meanwhile left out."""
        count = 0
        for pid in {self.pid, *descendants(self.pid)}:
            with suppress(OSError):
                count += sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
        return count

    def kill(self) -> None:
        """All of it, at once; returns when nothing of it is left."""
        if self._served is None:
            return
        found = {self.pid, *descendants(self.pid)}
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._served.process.wait(10)
        deadline = time.monotonic() + 10
        while not all(map(is_gone, found)):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        self._served = None

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        with process.stdout as said:
            self.said.extend(said)


@dataclass
class Rig:
    postgres: PostgresServer
    redis: RedisServer
    database_wire: Wire
    redis_wire: Wire
    processes: list[Process]
    clients: list[Client]
    folder: Path
    recoveries: dict[str, float] = field(default_factory=dict)

    async def recovers(
        self, name: str, works: Callable[[], Awaitable[bool]], within: float = WORKS_AGAIN_WITHIN
    ) -> float:
        """Seconds until it works; RECOVERED_WITHIN is for the test to demand."""
        began = time.monotonic()
        while not await works():
            assert time.monotonic() - began < within, f"{name}: nothing works any more"
        self.recoveries[name] = time.monotonic() - began
        return self.recoveries[name]

    def said(self) -> str:
        return "".join(line for process in self.processes for line in process.said)


def variables_of(postgres: PostgresServer, database_port: int, redis_port: int) -> dict[str, str]:
    return {
        "DATABASE_URL": postgres.url_by(database_port, "tenantry_service_login"),
        "DATABASE_OWNER_URL": postgres.url,
        "DATABASE_CONNECTIONS": str(CONNECTIONS),
        "REDIS_URL": f"redis://127.0.0.1:{redis_port}/0",
        "SECRET_KEY": "4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD",
        "ADMIN_PASSWORD": PASSWORD,
        "BASE_URL": "http://api.example",
        "TRUSTED_PROXIES": "127.0.0.1",
        "RATE_LIMITS": "count",
        "LOG_LEVEL": "warning",
    }


@asynccontextmanager
async def rig_on(folder: Path, command: Sequence[str] = COMMAND, **more: str) -> AsyncIterator[Rig]:
    """``command`` runs the first process; ``more`` are settings of both."""
    (folder / "postgres").mkdir()
    postgres, redis = PostgresServer(folder / "postgres"), RedisServer(folder)
    postgres.start()
    redis.start()
    wires = Wire(postgres.port), Wire(redis.port)
    variables = variables_of(postgres, wires[0].port, wires[1].port) | more
    processes = [Process(folder, variables, command), Process(folder, variables)]
    try:
        for process in processes:
            process.start()
        limits = httpx.Limits(max_connections=None)
        async with (
            httpx.AsyncClient(base_url=processes[0].url, limits=limits, timeout=60) as near,
            httpx.AsyncClient(base_url=processes[1].url, limits=limits, timeout=60) as far,
        ):
            clients = [Client(process.served, client) for process, client in zip(processes, (near, far), strict=True)]
            rig = Rig(postgres, redis, *wires, processes, clients, folder)
            try:
                yield rig
            finally:
                rig.redis.kill()  # perhaps the one that has taken over
    finally:
        for process in processes:
            process.kill()
        for wire in wires:
            wire.close()
        redis.kill()
        postgres.close()
