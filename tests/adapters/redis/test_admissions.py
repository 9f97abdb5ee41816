"""Redis really stopped, killed and started again: nothing waits, nothing fails, and all recovers by itself."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.memory.admissions import MemoryAdmissions
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.breaker import FIRST_PAUSE, LONGEST_PAUSE, Breaker
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import SharedPipeline
from adapters.system import SystemClock
from application.ports.shared_memory import Admissions
from domain.limits import Hit, Limit
from tests.adapters.redis.test_shared_pipeline import Pauses
from tests.servers.redis_servers import RedisServer
from tests.servers.shared_memories import NothingDue, naming
from tests.waiting import HUNG_AFTER

NAME = "user:a"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path)
    server.start()
    yield server
    server.kill()


@pytest.fixture
def patience() -> float:
    """Seconds for a round trip: a busy machine is no outage."""
    return HUNG_AFTER


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def pipeline(server: RedisServer, patience: float, pauses: Pauses) -> AsyncIterator[SharedPipeline]:
    pipeline = SharedPipeline(redis_client(server.url), Breaker(pauses), patience=patience)
    yield pipeline
    await pipeline.close()


hung = pytest.mark.parametrize("patience", [1.0])
"""Where the server hangs, it is given up after a second."""


def opened(pipeline: SharedPipeline, times: Times) -> RedisAdmissions:
    return RedisAdmissions(Lease(pipeline, NothingDue(), times), MemoryAdmissions(SystemClock()))


@pytest.fixture
async def admissions(pipeline: SharedPipeline) -> RedisAdmissions:
    admissions = opened(pipeline, Times(lifetime=60))
    assert await admissions.renew()
    return admissions


async def becomes_shared(admissions: Admissions, pauses: Pauses) -> None:
    deadline = time.monotonic() + HUNG_AFTER
    while not await admissions.is_shared():
        assert time.monotonic() < deadline, "it does not recover"
        pauses.now += LONGEST_PAUSE
        await asyncio.sleep(0.01)


async def known(admissions: Admissions, number: int) -> None:
    ticket = (await admissions.admit((), naming(NAME))).ticket
    assert ticket is not None
    await admissions.remember({NAME: number}, ticket)


def at_once(answer: Coroutine[Any, Any, int | None]) -> int | None:
    """The answer of what waits for nothing at all."""
    with pytest.raises(StopIteration) as ended:
        answer.send(None)
    found: int | None = ended.value.value
    return found


async def certain(admissions: Admissions) -> int | None:
    versions = (await admissions.admit((), naming(NAME))).token_versions
    return None if versions is None else versions[NAME]


async def test_a_killed_server_degrades_and_a_new_one_knows_no_versions(
    server: RedisServer, admissions: RedisAdmissions, pauses: Pauses
) -> None:
    await known(admissions, 4)
    server.kill()
    hit = Hit(Limit("killed", 3), "user:a")
    answers = [await admissions.admit([hit], naming(NAME)) for _ in range(5)]
    assert [answer.verdicts[0].allowed for answer in answers] == [True, True, True, False, False]
    assert {(answer.token_versions is None, answer.ticket) for answer in answers} == {(True, None)}
    assert not await admissions.is_shared()
    server.start()
    await becomes_shared(admissions, pauses)
    assert await certain(admissions) is None
    assert await admissions.renew()
    await known(admissions, 5)
    assert await certain(admissions) == 5


@hung
async def test_a_hung_server_delays_one_round_trip_and_no_more(
    server: RedisServer, admissions: RedisAdmissions, pauses: Pauses
) -> None:
    await known(admissions, 4)
    server.send(signal.SIGSTOP)
    assert await certain(admissions) is None
    for _ in range(200):
        assert at_once(certain(admissions)) is None
    server.send(signal.SIGCONT)
    await becomes_shared(admissions, pauses)
    assert await certain(admissions) == 4


async def test_a_redis_that_is_unavailable_at_the_start_is_found_later(
    server: RedisServer, admissions: RedisAdmissions, pauses: Pauses
) -> None:
    server.kill()
    assert not await admissions.is_shared()
    server.start()
    await becomes_shared(admissions, pauses)


@hung
async def test_a_version_bumped_while_the_server_hung_is_known_to_it_before_the_change_is_answered(
    server: RedisServer, admissions: RedisAdmissions, pauses: Pauses
) -> None:
    await known(admissions, 4)
    server.send(signal.SIGSTOP)
    change = asyncio.create_task(raise_to(admissions, 5))
    while await admissions.is_shared():
        assert not change.done()
    server.send(signal.SIGCONT)
    while not change.done():
        pauses.now += LONGEST_PAUSE
        await asyncio.sleep(0.01)
    await change
    assert await certain(admissions) in (5, None)


async def raise_to(admissions: RedisAdmissions, number: int) -> None:
    async with admissions.publishing([NAME]) as versions:
        versions[NAME] = number


async def test_an_unknown_version_is_answered_when_every_lease_has_expired(
    server: RedisServer, pipeline: SharedPipeline
) -> None:
    times = Times(lifetime=0.3, due=0.1, slack=0.05)
    admissions = opened(pipeline, times)
    server.kill()
    began = time.monotonic()
    await raise_to(admissions, 5)
    assert times.until_known <= time.monotonic() - began


async def test_a_renewed_lease_stays_valid(pipeline: SharedPipeline) -> None:
    # renewed from two fifths of its lifetime on: there is a second and more for that
    admissions = opened(pipeline, Times(lifetime=2, due=0.1, turn=0.05))
    async with admissions.kept():
        deadline = time.monotonic() + HUNG_AFTER
        while (ticket := (await admissions.admit((), naming(NAME))).ticket) is None:
            assert time.monotonic() < deadline
        await admissions.remember({NAME: 4}, ticket)
        first = await lease_in(pipeline)
        while await lease_in(pipeline) == first:
            assert await certain(admissions) == 4
        assert await certain(admissions) == 4
    while await certain(admissions) is not None:
        assert time.monotonic() < deadline


async def lease_in(pipeline: SharedPipeline) -> bytes:
    found: bytes = await pipeline.call(("GET", "{tenantry}:lease"))
    return found


async def test_an_idle_process_asks_redis_once_for_each_request(
    pipeline: SharedPipeline, admissions: RedisAdmissions
) -> None:
    await known(admissions, 4)
    before = await commands_of(pipeline)
    for _ in range(10):
        await admissions.admit([Hit(Limit("idle", 100), "user:a")], naming(NAME))
    assert await commands_of(pipeline) - before == 10 + 1  # and the question itself


async def commands_of(pipeline: SharedPipeline) -> int:
    """EVALSHA and INFO as clients sent them, without what scripts call: each of these here asks for INFO once."""
    statistics: dict[str, dict[str, int]] = await pipeline.call(("INFO", "commandstats"))
    calls = {name: statistics.get(f"cmdstat_{name}", {}).get("calls", 0) for name in SENT}
    return sum(calls.values()) - calls["evalsha"] - calls["eval"]


SENT = ("evalsha", "eval", "info", "ping", "exists", "set")


async def test_a_refused_cache_command_does_not_affect_other_commands(
    pipeline: SharedPipeline, admissions: RedisAdmissions
) -> None:
    await known(admissions, 4)
    await pipeline.call(("RPUSH", "tenantry:cache:odd", "1"))
    answers = await asyncio.gather(certain(admissions), RedisCache(pipeline).get("odd"), certain(admissions))
    assert list(answers) == [4, None, 4]
    assert await admissions.is_shared()


async def test_scripts_that_the_server_forgot_are_taught_again(
    pipeline: SharedPipeline, admissions: RedisAdmissions
) -> None:
    await known(admissions, 4)
    await pipeline.call(("SCRIPT", "FLUSH"))
    assert await asyncio.gather(*(certain(admissions) for _ in range(20))) == [4] * 20
    assert await admissions.is_shared()


async def test_calls_of_one_moment_share_round_trips(pipeline: SharedPipeline) -> None:
    answers = await asyncio.gather(*(pipeline.call(("ECHO", str(number))) for number in range(1_000)))
    assert answers == [str(number).encode() for number in range(1_000)]
    statistics: bytes = await pipeline.call(("CLIENT", "LIST"))
    assert statistics.count(b"cmd=") == 1


async def test_cancelling_one_call_does_not_cancel_the_others(admissions: RedisAdmissions) -> None:
    await known(admissions, 4)
    tasks = [asyncio.create_task(certain(admissions)) for _ in range(10)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert answers[1:] == [4] * 9


async def test_a_replica_is_not_believed(
    server: RedisServer, pipeline: SharedPipeline, admissions: RedisAdmissions
) -> None:
    await known(admissions, 4)
    await pipeline.call(("REPLICAOF", "127.0.0.1", "1"))
    assert await certain(admissions) is None


async def test_keys_have_one_hash_tag_and_a_time_to_live(pipeline: SharedPipeline, admissions: RedisAdmissions) -> None:
    await admissions.admit([Hit(Limit("login", 3), "user:a")], None)
    await known(admissions, 4)
    async with admissions.publishing(["user:b"]):
        keys = await pipeline.call(("KEYS", "*"))
        assert len(keys) == 5
        assert all(key.startswith(b"{tenantry}:") for key in keys)
        assert all([await pipeline.call(("TTL", key)) > 0 for key in keys])


def test_pauses_grow_up_to_a_bound_and_end_with_success() -> None:
    seconds = [0.0]
    breaker = Breaker(lambda: seconds[0])
    assert breaker.may_try
    assert not breaker.is_open
    breaker.failed()
    assert breaker.is_open
    assert not breaker.may_try
    seconds[0] += FIRST_PAUSE
    assert breaker.may_try
    for _ in range(20):
        breaker.failed()
    seconds[0] += LONGEST_PAUSE
    assert breaker.may_try
    breaker.answered()
    assert not breaker.is_open
    assert breaker.is_outage
    breaker.failed()
    assert breaker.is_open
    breaker.answered()
    breaker.worked()
    assert not breaker.is_open
    assert not breaker.is_outage


async def test_a_clock_that_is_set_back_does_not_lock_a_caller_out(
    server: RedisServer, admissions: RedisAdmissions
) -> None:
    hit = Hit(Limit("once", 1), NAME)
    assert (await admissions.admit([hit], naming(NAME))).verdicts[0].allowed
    client = redis_client(server.url)
    # what was counted an hour ago by the clock of now, and lies an hour ahead by one that is set back
    (key,) = [key async for key in client.scan_iter(match="*once*")]
    await client.lset(key, 0, str(int((time.time() + 3_600) * 1_000_000)))
    await client.aclose()
    allowed = [(await admissions.admit([hit], naming(NAME))).verdicts[0].allowed for _ in range(2)]
    assert allowed == [True, False]
