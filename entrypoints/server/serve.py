"""``tenantry serve``: servers, migrations, first start, and the worker processes."""

import asyncio
import errno
import gc
import json
import multiprocessing
import os
import resource
import shlex
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from adapters import console
from entrypoints.assembly.entities import load_registry
from entrypoints.server.draining import drain_of
from entrypoints.server.logging.setup import configure_logs, log_configuration
from entrypoints.server.restarting import serve_until_stopped
from entrypoints.server.run_in_child import run_in_child
from entrypoints.server.servers import own_servers
from entrypoints.server.start_warnings import file_warnings, setting_warnings
from entrypoints.server.termination import exit_on_signals, is_kept_running
from entrypoints.settings.settings import Settings, host_and_port
from entrypoints.terminal.answers import not_printed
from entrypoints.terminal.errors import UNAVAILABLE, CommandError

if TYPE_CHECKING:
    from granian.server.common import AbstractServer
    from litestar import Litestar

    from domain.entities.declaration import Registry

PORT_FREE_WITHIN = 2.0  # workers of a killed service may still be ending
STOPS_WITHIN = 30
"""Seconds for running requests to finish."""
CONNECTIONS = 16_384
"""Maximum open connections of one worker, including idle ones.

Further connections, such as health checks, wait in the socket's queue. The operating system's limit on open files may
be lower; the service raises that limit as far as possible.
"""
BACKLOG = 2048
FILES_OF_ITS_OWN = 256
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108  # in it a folder of the service's own is made
MOST_FILES = CONNECTIONS + 1024
"""Limit of open files that each process requests. With a much higher limit, usage would never approach it, so no alert
would fire.
"""
FEW_CONNECTIONS = 500
FEW_FILES = (
    "The limit of open files leaves each process {} connections of clients, idle ones among them; more have to wait."
    " Raise it: `ulimit -n 20000`, or LimitNOFILE of systemd."
)
WORKER = "entrypoints.server.worker"
HEADERS_WITHIN = 30_000  # milliseconds; then a silent connection ends


def serve(settings: Settings, *, allows_superuser: bool = False) -> None:
    """Serve until a stop request; return after all started processes have ended."""
    # A start creates little garbage: collections took a tenth of the time.
    gc.disable()
    exit_on_signals()
    configure_logs(settings)
    warn(setting_warnings(settings))
    ensure_port_free(settings)
    registry = load_registry(settings.entities, settings.files_max_bytes)
    warn(file_warnings(settings, registry))
    with own_servers(settings) as ready, _greeting(ready, is_embedded=settings.database_url is None) as greeting:
        greeting.password = _prepare(ready, registry, allows_superuser=allows_superuser)
        _run(ready, greeting)


def warn(sentences: Iterable[str]) -> None:
    for sentence in sentences:
        click.echo(f"Warning: {sentence}", err=True)


def _prepare(settings: Settings, registry: "Registry", *, allows_superuser: bool) -> str | None:
    """Prepare the start in a child process, because its memory would otherwise remain in all workers.

    Concurrently, this process imports modules and compiles statements for the workers.
    """
    from adapters.postgres.entities.usual_statements import (  # only now, when all else is right
        compile_usual_statements,
    )
    from entrypoints.server.failures import explained
    from entrypoints.server.preparation import ensure_fit_login, prepare

    async def explaining() -> str | None:
        async with explained(settings):
            warn(await ensure_fit_login(settings, allows_superuser=allows_superuser))
            return await prepare(settings)

    def get_ready() -> None:
        # Import statements remain correct in an installed wheel.
        import granian  # noqa: F401  # loaded before the workers are forked

        from entrypoints.server import worker  # noqa: F401  # loaded before the workers are forked

        compile_usual_statements(registry)

    return run_in_child(lambda: asyncio.run(explaining()), get_ready)


def ensure_port_free(settings: Settings) -> None:
    """Raise CommandError if another program uses the port: Granian would share it if both allow that."""
    deadline = time.monotonic() + PORT_FREE_WITHIN
    while (error := _bind_error(settings.host, settings.port)) is not None:
        if not isinstance(error, socket.gaierror) and time.monotonic() < deadline and _is_in_use(error):
            time.sleep(0.05)
            continue
        raise CommandError(_why(settings, error), UNAVAILABLE)


def _is_in_use(error: OSError) -> bool:
    return error.errno == errno.EADDRINUSE


def _why(settings: Settings, error: OSError) -> str:
    where = host_and_port(settings.host, settings.port)
    if _is_in_use(error):
        return f"{where} is in use by another program: stop that, or set TENANTRY_PORT to another port."
    return f"Nothing can listen on {where} ({error.strerror}): TENANTRY_HOST and TENANTRY_PORT say where."


def _bind_error(host: str, port: int) -> OSError | None:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as attempt:
            attempt.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            attempt.bind(address)
    except OSError as error:
        return error
    return None


def _run(settings: Settings, greeting: "Greeting") -> None:
    if sys.platform == "linux":
        multiprocessing.set_start_method("fork", force=True)  # workers inherit the imports of this process
        os.register_at_fork(after_in_child=_drop_signal_handlers)
    connections = _connections()
    if connections < FEW_CONNECTIONS:
        warn([FEW_FILES.format(connections)])
    is_kept = is_kept_running()
    with _shared_metrics(settings.workers), drain_of(settings.drain_seconds) as drain:
        flag = drain.flag if drain else None
        hooks = [drain.install] if drain is not None else []

        def made() -> "AbstractServer[Any]":
            return _server(settings, connections, [*hooks, partial(_end_with_terminal, is_kept=is_kept)])

        threading.Thread(target=greeting.say_when_ready, daemon=True).start()
        # Exclude these imports from garbage collection: workers share their memory until a collection writes to it. A
        # collection before would need a quarter of a second and find one garbage object in five hundred.
        gc.freeze()
        gc.enable()
        serve_until_stopped(made, partial(_worker, settings, os.getpid(), flag), lambda: greeting.is_said)


def _server(settings: Settings, connections: int, hooks: Iterable[Callable[[], None]]) -> "AbstractServer[Any]":
    """Return a server that calls the hooks at its start, after it has set its signal handlers."""
    from granian import Granian
    from granian.constants import HTTPModes, Interfaces, Loops
    from granian.http import HTTP1Settings
    from granian.log import LogLevels

    server = Granian(
        f"{WORKER}:worker",
        address=settings.host,
        port=settings.port,
        interface=Interfaces.ASGI,
        workers=settings.workers,
        loop=Loops.uvloop,
        websockets=False,
        http=HTTPModes.http1,  # version detection would wait forever for a silent client
        http1_settings=HTTP1Settings(header_read_timeout=HEADERS_WITHIN),
        backpressure=connections,
        backlog=BACKLOG,
        respawn_failed_workers=True,
        workers_kill_timeout=STOPS_WITHIN,
        log_level=LogLevels.debug if settings.log_level == "debug" else LogLevels.warning,
        log_dictconfig=log_configuration(settings),
    )
    for hook in hooks:
        server.on_startup(hook)
    return server


def _worker(settings: Settings, parent: int, flag: Path | None) -> "Litestar":
    from entrypoints.server.worker import worker  # in the worker's own process

    return worker(settings, parent, flag)


def _connections() -> int:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MOST_FILES if most == resource.RLIM_INFINITY else min(most, MOST_FILES)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, most))
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(CONNECTIONS, max(allowed // 2, allowed - FILES_OF_ITS_OWN)))


@contextmanager
def _shared_metrics(workers: int) -> Iterator[None]:
    """Set the folder for the shared counters of all processes, before the processes start."""
    if workers == 1:
        yield
        return
    # Prefer a folder in memory. The processes map these files, so on a full disk, such as after imports in /tmp, the
    # next count would kill its worker.
    memory = str(SHARED_MEMORY) if os.access(SHARED_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="tenantry-metrics-", dir=memory, ignore_cleanup_errors=True) as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        yield


def _end_with_terminal(*, is_kept: bool) -> None:
    """Handle a closed terminal like SIGTERM, because granian's handlers, set just before, would continue."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN if is_kept else signal.getsignal(signal.SIGTERM))


def _drop_signal_handlers() -> None:
    """Reset inherited signal handlers. With them, a worker would ignore SIGTERM until it sets its handlers."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@dataclass
class Greeting:
    """Text for a new user. It contains a new password exactly once."""

    settings: Settings
    is_embedded: bool
    password: str | None = None
    is_over: bool = False
    is_said: bool = False

    def say_when_ready(self) -> None:
        while not self.is_over:
            if _answers(self.settings):
                self.say()
                return
            time.sleep(0.01)

    def say(self) -> None:
        lines = "\n".join(self.lines())
        if not_printed(lines) is not None:
            click.echo(lines, err=True)
        self.is_said = True

    def lines(self) -> Iterator[str]:
        settings = self.settings
        here = f"http://{host_and_port(_reachable(settings.host), settings.port)}"
        data = settings.data_dir.resolve() if self.is_embedded else "the database of TENANTRY_DATABASE_URL"
        yield f"Tenantry listens on {here}, its data is in {data}"
        # Behind a proxy with named hosts, the service may answer 400 to requests with the address of this machine.
        is_proxied = bool(settings.allowed_hosts) and _names_a_host(settings.base_url)
        called = settings.base_url.rstrip("/") if is_proxied else here
        if settings.console and console.is_built():
            of_console = called if is_proxied else f"http://{_named(settings)}"
            yield f"Console: {of_console}/console"
        yield f"Documentation: {called}/{settings.docs_root}/index.html"
        if self.password is None:
            yield "Try first, with your password:"
        else:
            yield "Try first; the password of the first super-admin was made just now, and is shown this once:"
        yield f"  {_login(called, settings.admin_email, self.password or '…')}"
        yield "Ctrl-C stops it."


@contextmanager
def _greeting(settings: Settings, *, is_embedded: bool) -> Iterator[Greeting]:
    greeting = Greeting(settings, is_embedded)
    try:
        yield greeting
    finally:
        greeting.is_over = True
        if greeting.password is not None and not greeting.is_said:
            said = f"The password of {settings.admin_email}, shown this once: {greeting.password}"
            if not_printed(said) is not None:
                click.echo(said, err=True)


def _login(called: str, email: str, password: str) -> str:
    body = shlex.quote(json.dumps({"email": email, "password": password}, ensure_ascii=False))
    return f"curl -s {called}/api/auth/login -H 'Content-Type: application/json' -d {body}"


def _reachable(host: str) -> str:
    """Return a reachable address in place of one that listens on all interfaces."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # read, not bound


def _names_a_host(base_url: str) -> bool:
    """Return whether BASE_URL names a host, and is not the default for listening on all interfaces."""
    host = urlsplit(base_url).hostname or ""
    return _reachable(host) == host


def _named(settings: Settings) -> str:
    """Host and port; localhost on this machine, since browsers accept no passkeys for an address."""
    host = _reachable(settings.host)
    is_here = settings.passkey_rp_id == "localhost" and host in ("127.0.0.1", "::1")
    return host_and_port("localhost" if is_here else host, settings.port)


def _answers(settings: Settings) -> bool:
    try:
        with socket.create_connection((_reachable(settings.host), settings.port), timeout=1.0):
            return True
    except OSError:
        return False
