"""The baseline and the service, each started on the server's core, and their costs."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.entities import write_entities
from benchmarks.failures import BenchmarkFailed
from benchmarks.processes import cores, cpu_seconds, peak_mib, resident_mib, tree

READY_WITHIN = 180.0
STOPS_WITHIN = 15.0
ACCESS = '"answered"'

SERVER_CORES = cores()[0]
"""Cores for servers, read before this process keeps to the others."""

GRANIAN = "--interface asgi --loop uvloop --no-ws --workers 1 --backpressure 1024 --backlog 2048 --log-level warning"
"""Options with which the service runs."""

SERVICE = [sys.executable, "-m", "entrypoints.cli.main"]
ADMIN_EMAIL = "admin@example.com"
ADMIN_PASSWORD = "a password for benchmarks only"
CATALOGUE = "benchmarks.catalogue"
SECRET_KEY = "a secret for benchmarks only, which guards nothing"


class Server:
    """A running server; ``ready_in`` is the seconds it took to start, ``idle`` its MiB then."""

    def __init__(self, name: str, port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.name, self.port, self._process, self._log = name, port, process, log
        self.address = f"http://127.0.0.1:{port}"
        self.ready_in, self.idle = 0.0, 0.0

    @property
    def pid(self) -> int:
        return self._process.pid

    def cpu(self) -> float:
        return cpu_seconds(tree(self._process.pid))

    def peak(self) -> float:
        return peak_mib(tree(self._process.pid))

    def await_ready(self, path: str) -> None:
        started = time.monotonic()
        while time.monotonic() - started < READY_WITHIN:
            if self._process.poll() is not None:
                break
            try:
                if httpx.get(self.address + path, timeout=2.0).status_code < 500:
                    self.ready_in, self.idle = time.monotonic() - started, resident_mib(tree(self._process.pid))
                    return
            except httpx.TransportError:
                time.sleep(0.02)
        raise BenchmarkFailed(f"The {self.name} does not get ready:\n{self.last_words()}")

    def last_words(self) -> str:
        """The end of the server's log, without the lines for requests."""
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join([line for line in lines if ACCESS not in line][-10:])

    def forget_words(self) -> None:
        """Empties the log: a line for each request fills a disk in time."""
        os.truncate(self._log, 0)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def baseline(database_url: str) -> Iterator[Server]:
    options = (
        "--interface asgi --loop uvloop --workers 1 --no-ws --backpressure 1024 --backlog 2048 --log-level warning"
    )
    granian = [sys.executable, "-m", "granian", *options.split()]
    with running("baseline", [*granian, "benchmarks.baseline:app"], {"BASELINE_DATABASE_URL": database_url}) as server:
        server.await_ready("/health/live")
        yield server


@contextmanager
def service(
    database_url: str, redis_url: str, more_entities: int = 0, owner_url: str | None = None, workers: int = 1
) -> Iterator[Server]:
    """The service; with the owner's address it makes the role of ``database_url``, which row-level security holds."""
    settings = {
        "TENANTRY_DATABASE_URL": database_url,
        "TENANTRY_REDIS_URL": redis_url,
        "TENANTRY_SECRET_KEY": SECRET_KEY,
        "TENANTRY_ADMIN_EMAIL": ADMIN_EMAIL,
        "TENANTRY_ADMIN_PASSWORD": ADMIN_PASSWORD,
        "TENANTRY_ENTITIES": CATALOGUE,
        "TENANTRY_RATE_LIMITS": "count",
        "TENANTRY_WORKERS": str(workers),
        **({} if owner_url is None else {"TENANTRY_DATABASE_OWNER_URL": owner_url}),
    }
    with TemporaryDirectory(prefix="tenantry-bench-") as folder:
        if more_entities:
            module = write_entities(more_entities, Path(folder))
            settings["TENANTRY_ENTITIES"] = f"{CATALOGUE},{module}"
            _migrate(settings)
        with running("service", [*SERVICE, "serve"], settings) as server:
            server.await_ready("/health/ready")
            yield server


def _migrate(settings: Mapping[str, str]) -> None:
    command = [*SERVICE, "migrate", "--write", "entities of the benchmark"]
    done = subprocess.run(command, env={**_bare_environment(), **settings}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchmarkFailed(f"The entities could not be migrated:\n{done.stdout}{done.stderr}")


@contextmanager
def running(
    name: str, command: list[str], settings: Mapping[str, str], folder_of_code: Path | None = None
) -> Iterator[Server]:
    """A server on the server's core, stopped at the end; ``{port}`` in the command is replaced by its port."""
    port = _free_port()
    with TemporaryDirectory(prefix="tenantry-bench-", ignore_cleanup_errors=True) as folder:
        log = Path(folder) / "log"
        ports = {"TENANTRY_PORT": str(port), "TENANTRY_DATA_DIR": folder, "GRANIAN_PORT": str(port)}
        with log.open("ab") as output:
            process = subprocess.Popen(
                ["taskset", "-c", ",".join(map(str, SERVER_CORES)), *(part.format(port=port) for part in command)],
                cwd=folder_of_code,
                env={**_bare_environment(), **ports, **settings},
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        server = Server(name, port, process, log)
        try:
            yield server
        finally:
            server.stop()


def _bare_environment() -> dict[str, str]:
    """The environment without the user's own settings, and with compiled code kept, as ``make run`` keeps it."""
    left_out = ("TENANTRY_", "GRANIAN_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
