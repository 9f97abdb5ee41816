"""A feed without its sequencer: writes continue, and readiness, metrics and ``tenantry doctor`` report the lag."""

import asyncio
import urllib.request

import asyncpg
import pytest

from tests.builders import new_id
from tests.entrypoints.processes import PASSWORD, Serve, Served, Tenantry, eventually, free_port

_OLD_ENTRY = """
INSERT INTO change_queue (tenant_id, entity, row_id, version, action, at)
VALUES ($1, 'postings', $1, 1, 'created', now() - interval '1 minute')"""


def lag(served: Served) -> float:
    with urllib.request.urlopen(f"{served.url}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    (line,) = [line for line in lines if line.startswith("tenantry_changes_lag_seconds ")]
    return float(line.split()[1])


def readiness(served: Served) -> object:
    return served.call("GET", "/health/ready").body["status"]


@pytest.mark.promise("entities, changes: a lag above 10 s degrades readiness, and doctor names the holder of the lock")
async def test_a_late_feed_is_reported(serve: Serve, tenantry: Tenantry, followed: dict[str, str]) -> None:
    served = await asyncio.to_thread(serve, **followed)
    await asyncio.to_thread(eventually, lambda: readiness(served) == "ready")
    connection = await asyncpg.connect(followed["DATABASE_URL"])
    holder = connection.get_server_pid()
    await connection.execute("SELECT pg_advisory_lock(hashtextextended('tenantry.sequencer', 0))")
    await connection.execute(_OLD_ENTRY, new_id())
    token = await asyncio.to_thread(served.log_in, PASSWORD)
    made = await asyncio.to_thread(served.call, "POST", "/api/postings", {"title": "late"}, token)
    assert made.status == 201
    assert await asyncio.to_thread(readiness, served) == "degraded"
    assert await asyncio.to_thread(lag, served) >= 60
    told = (await asyncio.to_thread(tenantry, "doctor", **followed)).stdout
    assert "s late: changes wait for their positions" in told
    assert f"SELECT pg_terminate_backend({holder})" in told
    await connection.close()
    await asyncio.to_thread(eventually, lambda: lag(served) == 0)
    assert await asyncio.to_thread(readiness, served) == "ready"


async def test_doctor_reports_a_feed_without_a_sequencer(tenantry: Tenantry, followed: dict[str, str]) -> None:
    connection = await asyncpg.connect(followed["DATABASE_URL"])
    await connection.execute(_OLD_ENTRY, new_id())
    await connection.close()
    told = (await asyncio.to_thread(tenantry, "doctor", **followed, PORT=str(free_port()))).stdout
    assert "Check that a process of the service runs" in told
