"""Embedded servers that are killed under a running service: it starts them again."""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.entrypoints.processes import PASSWORD, descendants
from tests.faults.rig import RECOVERED_WITHIN, Process

pytestmark = [pytest.mark.timeout(120), pytest.mark.long]

STARTED_WITHIN = 20.0
"""Seconds: after a crash PostgreSQL writes all its files to the disk, which others may keep busy."""


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    process = Process(tmp_path, {"ADMIN_PASSWORD": PASSWORD, "RATE_LIMITS": "count", "LOG_LEVEL": "warning"})
    process.start()
    yield process
    process.kill()


def server_of(process: Process, program: str) -> int:
    """The one that the others of its kind are children of."""
    found = [pid for pid in descendants(process.pid) if runs(pid, program) and not runs(parent_of(pid), program)]
    (pid,) = found
    return pid


def runs(pid: int, program: str) -> bool:
    return Path(f"/proc/{pid}/exe").readlink().name == program


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.promise("security, faults: an embedded server that dies is started again")
async def test_an_embedded_server_that_dies_is_started_again(process: Process) -> None:
    served = process.served
    token, ended = served.log_in(PASSWORD), served.log_in(PASSWORD)
    (session,) = [
        session["id"]
        for session in served.call("GET", "/api/auth/sessions", token=ended).body["data"]["items"]
        if session["isCurrent"]
    ]
    assert served.call("DELETE", f"/api/auth/sessions/{session}", token=token).status == 200
    body = {"name": "Kettle", "sku": "KET-1", "price": 39.9}
    path = f"/api/products/{served.call('POST', '/api/products', body, token).body['data']['id']}"
    loop = asyncio.get_running_loop()
    for program in ("postgres", "valkey-server", "postgres"):
        os.kill(server_of(process, program), signal.SIGKILL)
        began, statuses = loop.time(), [0]
        while statuses[-1] != 200 or served.call("GET", "/health/ready").body["status"] != "ready":
            assert loop.time() - began < STARTED_WITHIN + RECOVERED_WITHIN, process.said[-10:]
            answer = await asyncio.to_thread(served.call, "PUT", path, {"stock": 1}, token)
            statuses.append(answer.status)
        assert set(statuses) <= {0, 200, 503}
        assert served.call("GET", "/api/auth/me", token=ended).status == 401
    assert process.served.end(signal.SIGTERM) in (0, 143, -15)
    assert "The embedded PostgreSQL runs again." in "".join(process.said)
