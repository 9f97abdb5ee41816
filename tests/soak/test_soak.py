"""Mixed load for as long as `make soak` says: no error, no growth; three times the capacity; a tenant that floods."""

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest

from benchmarks.processes import resident_mib, tree
from tests.faults.rig import Rig, rig_on
from tests.soak.people import Ask, Load, Member, member_of, ports_of

MINUTES = float(os.environ.get("TENANTRY_TEST_MINUTES", "0"))
MEASURED, OVERLOADED, FLOODED = 8.0, 20.0, 20.0
"""Seconds for the capacity, for three times the capacity, and for a flood."""

QUIET, FLOOD = 10, 150
"""Requests a second of a tenant beside a flood, which stay below its limit, and of the flood."""

AT_FIRST, MAY_GROW_MIB = 0.2, 24.0
"""Share of the time in which the service warms up, and what its processes may grow by afterwards."""

TOKEN_MINUTES = str(max(1, int(MINUTES * AT_FIRST)))
"""Lifetime of tokens: verified ones are remembered while they live, so that memory is flat after this time only."""

GROWING = {"products", "sessions", "revocation_counts", "audit_events", "login_networks"}
"""Tables that have a row for each login or for each session beyond a hundred, or that the load itself fills."""

pytestmark = [
    pytest.mark.skipif(not MINUTES, reason="`make soak` runs it"),
    pytest.mark.timeout(600 + 90 * MINUTES),
]


@pytest.fixture(scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Rig]:
    async with rig_on(tmp_path_factory.mktemp("soak"), ACCESS_TOKEN_MINUTES=TOKEN_MINUTES) as rig:
        yield rig


def tell(name: str, **figures: object) -> None:
    words = ", ".join(
        f"{key} {round(value, 1) if isinstance(value, float) else value}" for key, value in figures.items()
    )
    sys.stdout.write(f"{name}: {words}\n")


@pytest.mark.promise(
    "security, faults: Under mixed load nothing fails, slows down, or grows that should not; three times the capacity "
    "is survived (make soak)"
)
async def test_half_an_hour_at_seven_tenths_of_the_capacity(rig: Rig) -> None:
    members = [await member_of(rig.clients[0], f"soak-{number}") for number in range(4)]
    ports = ports_of([process.url for process in rig.processes])
    measuring = Load(ports, mixed(members))
    capacity = await measuring.as_fast_as_possible(MEASURED, 32)
    load, seconds = Load(ports, mixed(members), seed=2), MINUTES * 60
    began, before = time.perf_counter(), await counts(rig)
    warming = asyncio.create_task(memory_after(rig, seconds * AT_FIRST))
    await load.at_rate(0.7 * capacity, seconds)
    over = time.perf_counter()
    warm, last = await warming, memory(rig)
    share = (over - began) * AT_FIRST
    first_p99, last_p99 = load.seen.p99(began, began + share), load.seen.p99(over - share)
    grown = {name for name, count in (await counts(rig)).items() if count > before[name] + 5}
    tell("capacity", rate=capacity)
    tell("soak", requests=len(load.seen.times), first_p99=first_p99, last_p99=last_p99, warm=warm, last=last)
    tell("grown", tables=sorted(grown))
    tell("errors", kinds=Counter(error[:60] for error in load.seen.errors).most_common(10))
    assert load.seen.errors == []
    assert load.seen.codes() <= {200, 201, 204}
    assert last_p99 < 2 * first_p99
    assert last - warm < MAY_GROW_MIB
    assert grown <= GROWING
    await overloads(rig, ports, members, capacity)
    await load.close()
    await measuring.close()


async def overloads(rig: Rig, ports: list[int], members: list[Member], capacity: float) -> None:
    """Three times as much as there is capacity for: afterwards all is as before."""
    calm = Load(ports, mixed(members), seed=3)
    await calm.at_rate(0.3 * capacity, 5)
    flood = Load(ports, mixed(members), seed=4)
    await flood.at_rate(3 * capacity, OVERLOADED)
    again = Load(ports, mixed(members), seed=5)
    await asyncio.sleep(2)
    await again.at_rate(0.3 * capacity, 5)
    tell("overload", p99=flood.seen.p99(), statuses=dict(codes(flood)), before=calm.seen.p99(), after=again.seen.p99())
    assert flood.seen.errors == []
    assert flood.seen.codes() <= {200, 201, 204, 429, 503}
    assert again.seen.codes() <= {200, 201, 204}
    assert again.seen.p99() < 2 * calm.seen.p99() + 20
    for load in (calm, flood, again):
        await load.close()


@pytest.mark.promise(
    "security, faults: a tenant that floods is refused beyond its limits, and others are answered (make soak)"
)
async def test_a_tenant_that_floods_does_not_slow_another(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Within the limits of one caller there is little to flood with: what is beyond them is refused at once."""
    async with rig_on(tmp_path_factory.mktemp("flood"), RATE_LIMITS="on") as rig:
        quiet, loud = await member_of(rig.clients[0], "quiet"), await member_of(rig.clients[0], "loud")
        ports = ports_of([process.url for process in rig.processes])
        alone, beside = Load(ports, quiet.read), Load(ports, quiet.read, seed=2)
        flood = Load(ports, loud.mixed, seed=3)
        await alone.at_rate(QUIET, FLOODED)
        flooding = asyncio.create_task(flood.at_rate(FLOOD, FLOODED))
        await beside.at_rate(QUIET, FLOODED)
        await flooding
        tell("flood", statuses=dict(codes(flood)), alone=alone.seen.p99(), beside=beside.seen.p99())
        assert beside.seen.codes() == {200}
        assert flood.seen.codes() <= {200, 201, 204, 429}
        assert 429 in flood.seen.codes()
        assert flood.seen.errors == []
        for load in (alone, beside, flood):
            await load.close()


def mixed(members: list[Member]) -> Callable[[random.Random], Ask]:
    return lambda chance: chance.choice(members).mixed(chance)


def codes(load: Load) -> dict[int, int]:
    found: dict[int, int] = {}
    for (_, status), count in load.seen.statuses.items():
        found[status] = found.get(status, 0) + count
    return found


async def counts(rig: Rig) -> dict[str, int]:
    """Rows of every table."""
    tables = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition"
    tables += " AND relnamespace = 'public'::regnamespace"
    names = await rig.postgres.ask(tables)
    return {row[0]: (await rig.postgres.ask(f'SELECT count(*) FROM "{row[0]}"'))[0][0] for row in names}


async def memory_after(rig: Rig, seconds: float) -> float:
    await asyncio.sleep(seconds)
    return memory(rig)


def memory(rig: Rig) -> float:
    """MiB of all processes of the service."""
    return sum(resident_mib([pid]) for process in rig.processes for pid in tree(process.pid))
