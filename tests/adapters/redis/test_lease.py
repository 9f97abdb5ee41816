"""The lease of the token versions, in every order of events that chance draws, and step by step in the known ones.

Two processes share a real Redis and a database that is played here. Either can be cut off from Redis: nothing arrives,
or it arrives and its answer does not, or it arrives long after everybody has given up. Each awaits its turn before each
thing that it does to the outside, so that the draw decides who goes next. Time is the test's.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.redis.client import redis_client
from adapters.redis.shared_pipeline import SharedPipeline
from domain.errors import ServiceUnavailable
from tests.adapters.redis.leased_processes import LeasedProcesses, Line, Pipelines, at_once
from tests.examples import examples
from tests.servers.redis_servers import RedisServer
from tests.waiting import HUNG_AFTER


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(scope="module")
async def pipelines(server: RedisServer) -> AsyncIterator[Pipelines]:
    first, second, third = (SharedPipeline(redis_client(server.url), patience=HUNG_AFTER) for _ in range(3))
    three = (first, second, third)
    yield three
    for pipeline in three:
        await pipeline.close()


@pytest.mark.promise("identity, revocation: in any order of events")
@given(draws=st.lists(st.integers(0, 10_000), min_size=20, max_size=80))
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_certain_version_has_all_that_was_answered_whatever_the_order(
    pipelines: Pipelines, draws: list[int]
) -> None:
    processes = LeasedProcesses(pipelines)
    await processes.watching.renew()
    await processes.read(Line(processes.redis, processes.now), at_once)
    for draw in draws:
        steps = processes.steps()
        await steps[draw % len(steps)]()
        await processes.check()
    await processes.heal()


@pytest.fixture
async def processes(pipelines: Pipelines) -> LeasedProcesses:
    """One in which everybody knows that the version is 0."""
    processes = LeasedProcesses(pipelines)
    assert await processes.watching.renew()
    await processes.read(Line(processes.redis, processes.now), at_once)
    assert await processes.known() == 0
    return processes


async def run(processes: LeasedProcesses, name: str, line: Line, turns: int = 100) -> None:
    works = {"bump": processes.bump, "renew": processes.renew, "read": processes.read}
    await processes.go_on(name, partial(works[name], line), turns)


async def test_a_change_that_cannot_reach_redis_is_answered_when_all_older_leases_are_over(
    processes: LeasedProcesses,
) -> None:
    """The others renew for as long as the change is not theirs to see: the longest that the old version can live."""
    cut, healthy = processes.lines
    cut.state = "cut"
    await processes.wait(0.32)  # so that the renewal comes just before the change is due
    changed_at = processes.database.now()
    await run(processes, "bump", cut, turns=4)
    assert processes.database.truth == 1
    stale_until = changed_at
    while not processes.actors["bump"].is_over:
        if processes.database.pending_since is not None and not processes.database.due(processes.times.due):
            await run(processes, "renew", healthy)
        stale_until = processes.database.now() if await processes.known() == 0 else stale_until
        await processes.wait(0.01)
        await run(processes, "bump", cut, turns=2)
    assert processes.times.lifetime < stale_until - changed_at < processes.times.until_known
    assert processes.floor == 1
    assert await processes.known() is None


@pytest.mark.promise("identity, revocation: a process killed between the commit and Redis")
async def test_a_change_that_did_not_reach_redis_is_found_by_other_processes(processes: LeasedProcesses) -> None:
    cut, healthy = processes.lines
    cut.state = "cut"
    await run(processes, "bump", cut, turns=4)
    await processes.die("bump")  # and the process with it: kill -9 between the commit and Redis
    await processes.wait(processes.times.due + 0.4)
    await run(processes, "renew", healthy)
    assert await processes.known() == 1
    assert processes.database.pending_since is None


async def test_a_change_that_reaches_redis_again_is_answered_at_once(processes: LeasedProcesses) -> None:
    line = processes.lines[0]
    line.state = "cut"
    await run(processes, "bump", line, turns=4)
    line.state = "open"
    await processes.wait(0.1)
    await run(processes, "bump", line)
    assert (processes.floor, await processes.known()) == (1, 1)


async def test_a_change_known_to_redis_is_crossed_off_without_waiting_for_its_time(processes: LeasedProcesses) -> None:
    await processes.go_on("bump", partial(processes.bump, processes.lines[0]), 100)
    assert await processes.known() == 1
    async with processes.watching.publishing([processes.name]) as versions:
        versions[processes.name] = processes.database.commit()
    await processes.watching.renew()
    assert processes.database.pending_since is None


async def test_a_renewal_that_arrives_late_stretches_nothing(processes: LeasedProcesses) -> None:
    line = processes.lines[0]
    await processes.wait(1.9)
    await run(processes, "renew", line, turns=3)  # up to the renewal itself
    await processes.wait(processes.times.lifetime)
    await run(processes, "renew", line)
    assert await processes.known() is None


@pytest.mark.promise("identity, revocation: an older copy of Redis")
async def test_an_expired_lease_invalidates_all_cached_versions(processes: LeasedProcesses) -> None:
    """What a server remembers from before it was somebody's replica for a while is worth nothing."""
    await processes.wait(processes.times.lifetime)
    processes.database.truth = 7  # published elsewhere meanwhile, and crossed off
    assert await processes.watching.renew()
    assert await processes.known() is None
    await processes.read(processes.lines[0], at_once)
    assert await processes.known() == 7


async def test_the_time_of_one_server_renews_no_lease_of_another(processes: LeasedProcesses) -> None:
    ends = round((processes.database.now() + 100) * 1_000_000)
    assert not await processes.redis.call(processes.commands().renew(ends, "another server"))


async def test_cached_versions_expire_soon_without_the_database(processes: LeasedProcesses) -> None:
    class Nobody:
        async def due(self, age: float, most: int) -> dict[str, int]:
            raise ServiceUnavailable

        async def published(self, versions: Mapping[str, int]) -> None:
            raise ServiceUnavailable

    await processes.wait(1.9)
    assert await processes.known() == 0
    assert not await processes.admissions(processes.redis, Nobody()).renew()
    await processes.wait(0.1)
    assert await processes.known() is None
