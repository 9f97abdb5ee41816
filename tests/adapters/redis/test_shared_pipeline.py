"""SharedPipeline on one server, on the master that a sentinel names, and on a cluster.

Log lines about outages of Redis: one when an outage begins and one when it ends, whatever makes it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis, RedisCluster

from adapters.memory.admissions import MemoryAdmissions
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.breaker import LONGEST_PAUSE, Breaker
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import Away, SharedPipeline
from adapters.system import SystemClock
from domain.limits import Hit, Limit
from tests.servers.redis_servers import RedisServer, open_cluster
from tests.servers.shared_memories import NothingDue, naming
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


async def test_a_pipeline_error_of_any_kind_leaves_no_caller_waiting() -> None:
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


BEGINS, ENDS = "Redis is away", "Redis answers again."

FAULTS = {
    "a replica": (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    "no memory": (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    "no scripts by name": (("ACL", "SETUSER", "default", "-evalsha"), ("ACL", "SETUSER", "default", "+evalsha")),
}
"""What a server can be told so that it answers some commands and refuses others, and how this is taken back."""


class Pauses:
    """The clock of a Breaker, which a test moves past each pause."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def pipeline(server: RedisServer, pauses: Pauses) -> AsyncIterator[SharedPipeline]:
    # patient: a busy machine is no outage here
    pipeline = SharedPipeline(redis_client(server.url), Breaker(pauses), patience=HUNG_AFTER)
    yield pipeline
    await pipeline.close()


async def tell(server: RedisServer, *order: str) -> None:
    async with Redis.from_url(server.url) as client:
        sent: Any = client.execute_command  # typed for the client's other methods alone
        await sent(*order)


async def is_counted(pipeline: SharedPipeline, pauses: Pauses) -> bool:
    """Whether a request is counted after a pause and the attempt that follows it."""
    for _ in range(2):
        pauses.now += LONGEST_PAUSE
        with suppress(Away):
            await pipeline.call(Commands().admit([HIT], None))
            return True
        await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True)
    return False


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(" (")[0] for record in caplog.records]


@pytest.mark.promise(
    "declarations, internal errors: an outage of Redis is one warning when it begins and one when it ends"
)
@pytest.mark.parametrize("fault", FAULTS)
async def test_a_server_that_refuses_some_commands_is_one_outage(
    server: RedisServer, pipeline: SharedPipeline, pauses: Pauses, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    begin, end = FAULTS[fault]
    assert await is_counted(pipeline, pauses)
    for _ in range(2):
        await tell(server, *begin)
        assert not any([await is_counted(pipeline, pauses) for _ in range(4)])
        await tell(server, *end)
        assert await is_counted(pipeline, pauses)
        assert await is_counted(pipeline, pauses)
    assert said(caplog) == [BEGINS, ENDS] * 2


@pytest.mark.promise(
    "declarations, internal errors: an outage of Redis is one warning when it begins and one when it ends"
)
async def test_a_server_that_is_gone_is_one_outage(
    server: RedisServer, pipeline: SharedPipeline, pauses: Pauses, caplog: pytest.LogCaptureFixture
) -> None:
    assert await is_counted(pipeline, pauses)
    server.kill()
    commands = [Commands().admit([HIT], None) for _ in range(600)]
    answers = await asyncio.gather(*map(pipeline.call, commands), return_exceptions=True)
    assert {type(answer) for answer in answers} == {Away}
    assert not any([await is_counted(pipeline, pauses) for _ in range(4)])
    server.start()
    assert await is_counted(pipeline, pauses)
    assert said(caplog) == [BEGINS, ENDS]


async def test_a_command_that_is_refused_again_and_again_is_one_line(
    server: RedisServer, pipeline: SharedPipeline, pauses: Pauses, caplog: pytest.LogCaptureFixture
) -> None:
    cache = RedisCache(pipeline)
    await tell(server, "ACL", "SETUSER", "default", "-get")
    assert [await cache.get(key) for key in "abc"] == [None] * 3
    assert await is_counted(pipeline, pauses)
    assert said(caplog) == ["Redis refuses GET"]
