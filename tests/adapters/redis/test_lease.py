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
from tests.adapters.redis.leased_processes import Line, OpenApp, Pipelines, at_once
from tests.examples import examples
from tests.redis_server import RedisServer
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


@given(draws=st.lists(st.integers(0, 10_000), min_size=20, max_size=80))
@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_certain_count_has_all_that_was_answered_whatever_the_order(
    pipelines: Pipelines, draws: list[int]
) -> None:
    house = OpenApp(pipelines)
    await house.watching.renew()
    await house.read(Line(house.redis, house.now), at_once)
    for draw in draws:
        steps = house.steps()
        await steps[draw % len(steps)]()
        await house.check()
    await house.heal()


@pytest.fixture
async def house(pipelines: Pipelines) -> OpenApp:
    """One in which everybody knows that the count is 0."""
    house = OpenApp(pipelines)
    assert await house.watching.renew()
    await house.read(Line(house.redis, house.now), at_once)
    assert await house.known() == 0
    return house


async def run(house: OpenApp, name: str, line: Line, turns: int = 100) -> None:
    works = {"raise": house.raise_count, "renew": house.renew, "read": house.read}
    await house.go_on(name, partial(works[name], line), turns)


async def test_who_cannot_tell_redis_is_answered_when_no_lease_is_left_from_before(house: OpenApp) -> None:
    """The others renew for as long as the change is not theirs to see: the longest that the old count can live."""
    cut, healthy = house.lines
    cut.state = "cut"
    await house.wait(0.32)  # so that the renewal comes just before the change is due
    changed_at = house.database.now()
    await run(house, "raise", cut, turns=4)
    assert house.database.truth == 1
    stale_until = changed_at
    while not house.actors["raise"].is_over:
        if house.database.raised_at is not None and not house.database.due(house.times.due):
            await run(house, "renew", healthy)
        stale_until = house.database.now() if await house.known() == 0 else stale_until
        await house.wait(0.01)
        await run(house, "raise", cut, turns=2)
    assert house.times.lifetime < stale_until - changed_at < house.times.until_known
    assert house.floor == 1
    assert await house.known() is None


async def test_a_change_that_redis_was_not_told_is_found_by_the_others(house: OpenApp) -> None:
    cut, healthy = house.lines
    cut.state = "cut"
    await run(house, "raise", cut, turns=4)
    await house.die("raise")  # and the process with it: kill -9 between the commit and Redis
    await house.wait(house.times.due + 0.4)
    await run(house, "renew", healthy)
    assert await house.known() == 1
    assert house.database.raised_at is None


async def test_who_can_tell_redis_again_waits_no_longer(house: OpenApp) -> None:
    line = house.lines[0]
    line.state = "cut"
    await run(house, "raise", line, turns=4)
    line.state = "open"
    await house.wait(0.1)
    await run(house, "raise", line)
    assert (house.floor, await house.known()) == (1, 1)


async def test_a_change_known_to_redis_is_crossed_off_without_waiting_for_its_time(house: OpenApp) -> None:
    await house.go_on("raise", partial(house.raise_count, house.lines[0]), 100)
    assert await house.known() == 1
    async with house.watching.publishing([house.name]) as counts:
        counts[house.name] = house.database.commit()
    await house.watching.renew()
    assert house.database.raised_at is None


async def test_a_renewal_that_arrives_late_stretches_nothing(house: OpenApp) -> None:
    line = house.lines[0]
    await house.wait(1.9)
    await run(house, "renew", line, turns=3)  # up to the renewal itself
    await house.wait(house.times.lifetime)
    await run(house, "renew", line)
    assert await house.known() is None


async def test_a_lease_that_lapsed_takes_the_whole_copy_with_it(house: OpenApp) -> None:
    """What a server remembers from before it was somebody's replica for a while is worth nothing."""
    await house.wait(house.times.lifetime)
    house.database.truth = 7  # published elsewhere meanwhile, and crossed off
    assert await house.watching.renew()
    assert await house.known() is None
    await house.read(house.lines[0], at_once)
    assert await house.known() == 7


async def test_the_time_of_one_server_renews_no_lease_of_another(house: OpenApp) -> None:
    ends = round((house.database.now() + 100) * 1_000_000)
    assert not await house.redis.call(house.commands().renew(ends, "another server"))


async def test_without_the_database_the_copy_is_not_believed_for_long(house: OpenApp) -> None:
    class Nobody:
        async def due(self, age: float, most: int) -> dict[str, int]:
            raise ServiceUnavailable

        async def published(self, counts: Mapping[str, int]) -> None:
            raise ServiceUnavailable

    await house.wait(1.9)
    assert await house.known() == 0
    assert not await house.admissions(house.redis, Nobody()).renew()
    await house.wait(0.1)
    assert await house.known() is None
