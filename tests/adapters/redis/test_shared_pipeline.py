"""SharedPipeline on one server, on the master that a sentinel names, and on a cluster."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import RedisCluster

from adapters.memory.admissions import MemoryAdmissions
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import Away, SharedPipeline
from adapters.system import SystemClock
from domain.limits import Hit, Limit
from tests.redis_cluster import open_cluster
from tests.redis_server import RedisServer
from tests.shared_memories import NothingDue, naming
from tests.waiting import HUNG_AFTER

NAME = "user:a"
HIT = Hit(Limit("login", 1_000), "address:192.0.2.1")
Start = Callable[..., RedisServer]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a server with a folder and options of its own."""
    running: list[RedisServer] = []

    def begin(*options: str, sentinel: str = "") -> RedisServer:
        folder = tmp_path / str(len(running))
        folder.mkdir()
        running.append(RedisServer(folder, *options, sentinel=sentinel))
        running[-1].start()
        return running[-1]

    yield begin
    for server in running:
        server.kill()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[RedisCluster]:
    """Two nodes, half of the slots on each."""
    async with open_cluster(tmp_path, masters=2) as nodes:
        made = redis_client(nodes.url)
        assert isinstance(made, RedisCluster)
        yield made
        await made.aclose()


async def works(pipeline: SharedPipeline) -> None:
    """The cache, whose keys lie anywhere, and limits and versions, whose keys lie together; forgotten scripts too."""
    lease = Lease(pipeline, NothingDue(), Times(lifetime=60), commands=Commands("shop"))
    admissions = RedisAdmissions(lease, MemoryAdmissions(SystemClock()))
    assert await admissions.is_shared()
    assert await admissions.renew()
    ticket = (await admissions.admit((), naming(NAME))).ticket
    assert ticket is not None
    await admissions.remember({NAME: 4}, ticket)
    cache, keys = RedisCache(pipeline), [f"key {number}" for number in range(50)]
    await asyncio.gather(*(cache.put(key, key.encode(), timedelta(minutes=1)) for key in keys))
    assert await asyncio.gather(*(cache.get(key) for key in keys)) == [key.encode() for key in keys]
    answers = await asyncio.gather(*(admissions.admit([HIT], naming(NAME)) for _ in range(100)))
    assert {answer.verdicts[0].remaining for answer in answers} == set(range(900, 1_000))
    assert all(answer.token_versions == {NAME: 4} for answer in answers)


async def test_on_the_master_that_a_sentinel_names(start: Start) -> None:
    master = start()
    watching = start(sentinel=f"sentinel monitor main 127.0.0.1 {master.port} 1\n")
    pipeline = SharedPipeline(redis_client(f"redis+sentinel://127.0.0.1:{watching.port}/main/3"), patience=HUNG_AFTER)
    await works(pipeline)
    await pipeline.close()


async def test_on_a_cluster(cluster: RedisCluster) -> None:
    pipeline = SharedPipeline(cluster, patience=HUNG_AFTER)
    await works(pipeline)
    sizes = [await cluster.dbsize(target_nodes=node) for node in cluster.get_primaries()]
    assert all(sizes)
    await pipeline.close()


async def test_a_lease_of_another_server_is_none(start: Start) -> None:
    """A server that was started from a dump, or took over from another, has all of its keys, and another run id."""
    pipeline = SharedPipeline(redis_client(start().url), patience=HUNG_AFTER)
    await works(pipeline)
    lease = Lease(pipeline, NothingDue(), Times(lifetime=60), commands=Commands("shop"))
    admissions = RedisAdmissions(lease, MemoryAdmissions(SystemClock()))
    assert (await admissions.admit((), naming(NAME))).token_versions == {NAME: 4}
    generation, ends, _ = (await pipeline.call(("GET", "{shop}:lease"))).decode().split()
    await pipeline.call(("SET", "{shop}:lease", f"{generation} {ends} {'0' * 40}"))
    answer = await admissions.admit((), naming(NAME))
    assert (answer.token_versions, answer.ticket) == (None, None)
    assert await admissions.renew()
    assert (await admissions.admit((), naming(NAME))).token_versions is None
    await pipeline.close()


class BrokenClient:
    """Raises what is no RedisError, as a cluster's client does when it has no node left."""

    def pipeline(self, transaction: bool) -> Any:
        raise RuntimeError("no node")

    async def aclose(self) -> None:
        raise RuntimeError("no node")


async def test_an_error_of_any_kind_leaves_nobody_waiting() -> None:
    broken: Any = BrokenClient()
    pipeline = SharedPipeline(broken)
    async with asyncio.timeout(HUNG_AFTER):
        answers = await asyncio.gather(*(pipeline.call(("PING",)) for _ in range(600)), return_exceptions=True)
        assert {type(answer) for answer in answers} == {Away}
        await asyncio.sleep(0.15)  # the pause is over: an attempt is made
        with pytest.raises(Away):
            await pipeline.call(("PING",))


async def test_a_closed_pipeline_refuses_what_was_waiting(start: Start) -> None:
    pipeline = SharedPipeline(redis_client(start().url), patience=HUNG_AFTER)
    waiting = [asyncio.ensure_future(pipeline.call(("ECHO", "a"))) for _ in range(3)]
    await asyncio.sleep(0)
    await pipeline.close()
    assert {type(answer) for answer in await asyncio.gather(*waiting, return_exceptions=True)} <= {Away, bytes}
