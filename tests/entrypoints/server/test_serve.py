"""``tenantry serve`` as a newcomer, an operator and a crash see it."""

import asyncio
import json
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from tests.entrypoints.processes import (
    COMMAND,
    PASSWORD,
    Serve,
    Served,
    Tenantry,
    descendants,
    environment,
    eventually,
    free_port,
    is_gone,
)
from tests.servers.databases import SOMEBODY_WAITS
from tests.waiting import HUNG_AFTER


def product(name: str) -> dict[str, object]:
    return {"name": name, "sku": "KET-1", "price": 39.9}


def test_the_first_minute(serve: Serve, tenantry: Tenantry, tmp_path: Path) -> None:
    served = serve()
    assert served.url in served.words
    assert f"{served.url}/docs/index.html" in served.words
    # Valkey has just started, and answers its first questions slowly on a busy machine.
    eventually(lambda: served.call("GET", "/health/ready").body["status"] == "ready")
    assert '"isSuccess":true' in pasted(served.words)
    token = served.log_in(served.password)
    assert served.call("POST", "/api/products", product("Kettle"), token).status == 201

    running = json.loads((tmp_path / ".data" / "run.json").read_text())
    assert urlsplit(running["database_url"]).username == "tenantry_login"

    second = tenantry("serve", PORT=str(free_port()))
    assert second.returncode == 3
    assert "is in use by process" in second.stderr

    beside = tenantry("create-admin", "ada@example.com", ADMIN_PASSWORD=PASSWORD)
    assert "ada@example.com is a super-admin now, with the password of TENANTRY_ADMIN_PASSWORD." in beside.stdout, (
        beside.stderr
    )
    served.log_in(PASSWORD, "ada@example.com")

    started = descendants(served.process.pid)
    assert len(started) >= 3
    assert served.end(signal.SIGTERM) == 0
    eventually(lambda: all(is_gone(pid) for pid in started))
    assert not (tmp_path / ".data" / "run.json").exists()


def pasted(words: str) -> str:
    (line,) = re.findall(r"^  (curl .*)$", words, re.MULTILINE)
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True).stdout


def test_a_killed_service_starts_again_with_all_it_answered(serve: Serve) -> None:
    first = serve(ADMIN_PASSWORD=PASSWORD)
    token = first.log_in(PASSWORD)
    assert first.call("POST", "/api/products", product("Kettle"), token).status == 201
    started = descendants(first.process.pid)
    first.end(signal.SIGKILL)

    second = serve(ADMIN_PASSWORD=PASSWORD, PORT=str(urlsplit(first.url).port))
    eventually(lambda: all(is_gone(pid) for pid in started))
    assert second.call("GET", "/api/products", token=token).body["data"]["totalCount"] == 1
    assert PASSWORD not in second.words


def test_a_worker_that_dies_is_replaced_and_ctrl_c_ends_all(serve: Serve) -> None:
    served = serve(WORKERS="2", ADMIN_PASSWORD=PASSWORD)
    workers = workers_of(served)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    eventually(lambda: len(set(workers_of(served)) - set(workers)) == 1)
    eventually(lambda: can_connect(served.url))
    served.log_in(PASSWORD)
    started = descendants(served.process.pid)
    os.killpg(served.process.pid, signal.SIGINT)  # as a terminal does
    assert served.process.wait(HUNG_AFTER) == 0
    eventually(lambda: all(is_gone(pid) for pid in started))


@pytest.mark.promise("security, faults: workers that are killed five times within seconds are replaced")
def test_workers_that_are_killed_again_and_again_are_replaced(serve: Serve, migrated: dict[str, str]) -> None:
    served = serve(**migrated, WORKERS="2")
    killed: set[int] = set()

    def is_complete() -> bool:
        return len(set(workers_of(served)) - killed) == 2

    for _ in range(5):
        eventually(is_complete)
        victim = min(set(workers_of(served)) - killed)
        killed.add(victim)
        os.kill(victim, signal.SIGKILL)
    eventually(is_complete)
    eventually(lambda: can_connect(served.url))
    assert served.call("GET", "/health/ready").status == 200
    assert served.end(signal.SIGTERM) == 0


HEEDING_HANGUPS = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Runs a command as a terminal does, also where the tests themselves run under `nohup`."""


@pytest.mark.end_to_end  # it starts embedded servers
def test_a_terminal_that_is_closed_ends_all(tmp_path: Path) -> None:
    terminal, line = pty.openpty()
    # whoever begins a session and opens a terminal has it from then on
    redirected = ["/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(line), *COMMAND, "serve"]
    command = [sys.executable, "-c", HEEDING_HANGUPS, *redirected]
    variables = environment({"PORT": str(free_port()), "WORKERS": "2"})
    with subprocess.Popen(command, cwd=tmp_path, env=variables, start_new_session=True) as process:
        said = b""
        while b"Ctrl-C stops it." not in said:
            said += os.read(terminal, 4096)
        started = descendants(process.pid)
        assert len(started) >= 4
        os.close(line)
        os.close(terminal)  # the system sends SIGHUP to the service and its workers
        try:
            assert process.wait(HUNG_AFTER) == 0
        finally:
            process.kill()
    eventually(lambda: all(is_gone(pid) for pid in started))
    assert not (tmp_path / ".data" / "run.json").exists()


def test_a_service_started_with_nohup_continues_after_sighup(serve: Serve, migrated: dict[str, str]) -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does for what it starts
    try:
        served = serve(**migrated)
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    workers = workers_of(served)
    os.killpg(served.process.pid, signal.SIGHUP)
    served.log_in(PASSWORD)
    assert workers_of(served) == workers


def workers_of(served: Served) -> list[int]:
    return [pid for pid in descendants(served.process.pid) if "entrypoints.cli.main" in command_line(pid)]


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_a_port_in_use_is_said_plainly(tenantry: Tenantry) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = tenantry("serve", PORT=str(taken.getsockname()[1]))
    assert ended.returncode == 4
    assert "is in use by another program" in ended.stderr


async def test_two_services_share_their_servers(serve: Serve, tenantry: Tenantry, shared: dict[str, str]) -> None:
    waiting = tenantry("serve", MIGRATE="off", PORT=str(free_port()), **shared)
    assert waiting.returncode == 5
    assert "Run: tenantry migrate" in waiting.stderr

    issuer = {"BASE_URL": "http://api.localhost"}
    first, other = serve(**shared, **issuer), serve(**shared, **issuer)
    token = first.log_in(PASSWORD)
    assert other.call("GET", "/api/auth/me", token=token).status == 200
    assert first.call("POST", "/api/auth/logout", token=token).status == 200
    assert other.call("GET", "/api/auth/me", token=token).status == 401
    assert other.call("GET", "/api/auth/me", token=other.log_in(PASSWORD)).status == 200


async def test_a_running_request_is_finished_before_the_service_ends(serve: Serve, migrated: dict[str, str]) -> None:
    served = serve(**migrated)
    token = served.log_in(PASSWORD)
    await stop_in_the_middle(served, migrated["DATABASE_URL"], token)
    assert served.process.wait(HUNG_AFTER) == 0


async def stop_in_the_middle(served: Served, database_url: str, token: str) -> None:
    """The request waits for a lock that is let go only when the service has been told to stop."""
    connection = await asyncpg.connect(database_url)
    try:
        async with connection.transaction():
            await connection.execute("LOCK TABLE products IN ACCESS EXCLUSIVE MODE")
            answer = asyncio.create_task(asyncio.to_thread(served.call, "GET", "/api/products", None, token))
            while not await connection.fetchval(SOMEBODY_WAITS):
                assert not answer.done()
            served.process.terminate()
            while can_connect(served.url):
                assert not answer.done()
        assert (await answer).status == 200
    finally:
        await connection.close()


def can_connect(url: str) -> bool:
    parts = urlsplit(url)
    with socket.socket() as attempt:
        return attempt.connect_ex((parts.hostname, parts.port)) == 0


OWN_ROUTE = """
from litestar import get
from tenantry import ORDINARY, PUBLIC, rules

@get("/own", status_code=204, opt=rules(policy=PUBLIC, limit=ORDINARY))
async def own() -> None: ...

ROUTES = (own,)
"""


def test_the_metrics_of_one_worker_include_all_workers(serve: Serve, migrated: dict[str, str], tmp_path: Path) -> None:
    """What is checked before workers start must not load what decides, when it is loaded, where they count."""
    (tmp_path / "own.py").write_text(OWN_ROUTE)
    served = serve(**migrated, WORKERS="2", ENTITIES="tenantry.catalogue,own.py")
    assert served.call("GET", "/own").status == 204
    for _ in range(40):
        assert served.call("GET", "/api/nothing").status == 404

    def counted() -> list[float]:
        with urllib.request.urlopen(f"{served.url}/metrics", timeout=HUNG_AFTER) as answer:
            text = answer.read().decode()
        return [
            float(value) for value in re.findall(r'tenantry_answers_total\{endpoint="\w*",status="404"\} (\S+)', text)
        ]

    for _ in range(10):
        eventually(lambda: counted() == [40.0])

    def gauge(name: str) -> float:
        with urllib.request.urlopen(f"{served.url}/metrics", timeout=HUNG_AFTER) as answer:
            return float(re.findall(rf"^{name} (\S+)$", answer.read().decode(), re.MULTILINE)[0])

    eventually(lambda: (gauge("tenantry_workers"), gauge("tenantry_pool_connections_max")) == (2.0, 12.0))
    before, workers = gauge("process_start_time_seconds"), workers_of(served)
    os.kill(workers[0], signal.SIGKILL)
    eventually(lambda: len(set(workers_of(served)) - set(workers)) == 1)
    eventually(lambda: can_connect(served.url))
    # the load of the dead is forgotten, and what it counted is not
    eventually(lambda: gauge("process_start_time_seconds") > before)
    eventually(lambda: (gauge("tenantry_workers"), gauge("tenantry_pool_connections_max")) == (2.0, 12.0))
    assert counted() == [40.0]
