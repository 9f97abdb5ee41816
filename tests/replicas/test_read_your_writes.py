"""Writes are read back at once, whatever the replica is behind and whichever process is asked."""

import asyncio
import os

import pytest

from adapters.postgres.replicas.reads import LEFT_BY_ALL
from domain.entities.declaration import Registry
from tests.replicas.conftest import delay
from tests.replicas.service import READ_AFTER, Process, Servers, rotated
from tests.servers.postgres_servers import PostgresServer
from tests.servers.redis_servers import RedisServer

WRITES = int(os.environ.get("TENANTRY_TEST_WRITES", "40"))
"""Writes that are each read back; `make scale` does 10,000."""


async def write_and_read(writer: Process, reader: Process, token: str, writes: int) -> None:
    for _ in range(writes // 2):
        made = await writer.create(token)
        path, row_id = made.headers["Location"], made.json()["data"]["id"]
        page = await reader.call("GET", "/api/categories", token, params={"pageSize": "1", "sort": "createdAt:desc"})
        assert [row["id"] for row in page.json()["data"]["items"]] == [row_id]
        changed = await writer.call("PUT", path, token, json={"name": f"new {row_id}"})
        assert changed.status_code == 200, changed.text
        found = await reader.call("GET", path, token)
        assert found.json()["data"]["name"] == f"new {row_id}"


async def stale_reads(writer: Process, reader: Process, token: str, other: str) -> int:
    """How often another session, to whom nothing is promised, reads a name that has just been changed."""
    path = (await writer.create(token)).headers["Location"]
    await asyncio.sleep(0.5)  # longer than any delay: the replica has the row
    stale = 0
    for number in range(20):
        await writer.call("PUT", path, token, json={"name": f"{path} {number}"})
        found = await reader.call("GET", path, other)
        stale += found.json()["data"]["name"] != f"{path} {number}"
    return stale


@pytest.mark.promise("scale, replicas: a write is read back at once by any process, from a replica that is behind too")
@pytest.mark.timeout(60 + WRITES // 4)
async def test_every_write_is_read_back_at_once_by_another_process(
    pair: Servers, running: PostgresServer, registry: Registry
) -> None:
    async with pair.processes(registry) as (first, second):
        token, other = await first.login(), await first.login()
        await rotated(second, token)
        for milliseconds in (0, 30):
            await delay(running, milliseconds)
            await write_and_read(first, second, token, WRITES // 2)
        # Or the replica would never have been asked for what it does not have yet.
        await rotated(second, other)
        assert await stale_reads(first, second, token, other) > 0


@pytest.mark.promise("scale, replicas: X-Read-After makes the reads of any session as new as a write")
async def test_the_header_of_a_write_makes_reads_of_any_session_wait_for_it(
    pair: Servers, running: PostgresServer, registry: Registry
) -> None:
    async with pair.processes(registry) as (first, second):
        token, other = await first.login(), await first.login()
        await rotated(second, other)
        await delay(running, 200)
        path = (await first.create(token)).headers["Location"]
        for number in range(10):
            changed = await first.call("PUT", path, token, json={"name": f"{path} {number}"})
            headers = {READ_AFTER: changed.headers[READ_AFTER]}
            found = await second.call("GET", path, other, headers=headers)
            assert found.json()["data"]["name"] == f"{path} {number}"
        wrong = await second.call("GET", path, other, headers={READ_AFTER: "yesterday"})
        assert (wrong.status_code, READ_AFTER in wrong.json()["error"]["message"]) == (400, True)


@pytest.mark.promise("scale, replicas: Reads of rows are answered by replicas, and identity is read from the primary")
async def test_reads_that_nothing_was_written_for_are_answered_by_the_replica(
    pair: Servers, registry: Registry
) -> None:
    async with pair.processes(registry) as (first, second):
        token = await first.login()
        path = (await first.create(token)).headers["Location"]
        await rotated(second, token)
        before = second.answered
        for asked in (path, "/api/categories", "/api/categories/export"):
            assert (await second.call("GET", asked, token)).status_code == 200
        assert second.answered == before + 2  # an export is a transaction of its own
        # What belongs to identity is read from the primary.
        assert (await second.call("GET", "/api/users", token)).status_code == 200
        assert second.answered == before + 2


@pytest.mark.promise("scale, replicas: a row of this second is found by everybody")
async def test_a_row_that_another_user_created_a_moment_ago_is_found(
    pair: Servers, running: PostgresServer, registry: Registry
) -> None:
    async with pair.processes(registry) as (first, second):
        token, other = await first.login(), await first.login()
        await rotated(second, other)
        await delay(running, 500)
        path = (await first.create(token)).headers["Location"]
        assert (await second.call("GET", path, other)).status_code == 200


@pytest.mark.promise("scale, replicas: neither a Redis that is away nor one that lost its memory makes a write vanish")
async def test_without_redis_a_write_is_answered_when_every_replica_has_it(
    pair: Servers, running: PostgresServer, redis: RedisServer, registry: Registry
) -> None:
    async with pair.processes(registry) as (first, second):
        token, other = await first.login(), await first.login()
        await rotated(second, other)
        await delay(running, 300)
        redis.kill()
        loop = asyncio.get_running_loop()
        began = loop.time()
        path = (await first.create(token)).headers["Location"]
        assert 0.2 < loop.time() - began < LEFT_BY_ALL + 1
        # No process knows who wrote: all are answered by the primary.
        before = second.answered
        assert (await second.call("GET", path, token)).status_code == 200
        assert second.answered == before


@pytest.mark.promise("scale, replicas: neither a Redis that is away nor one that lost its memory makes a write vanish")
async def test_a_redis_that_lost_its_memory_is_not_believed(
    pair: Servers, redis: RedisServer, registry: Registry
) -> None:
    async with pair.processes(registry) as (first, second):
        token = await first.login()
        await rotated(second, token)
        redis.kill()
        redis.start()
        made = await first.create(token)
        before = second.answered
        for _ in range(5):
            assert (await second.call("GET", made.headers["Location"], token)).status_code == 200
        assert second.answered == before
