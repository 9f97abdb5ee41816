"""Clusters and sentinels whose servers die, hand slots over and take over from each other, under traffic.

What is promised: no request fails or waits beyond a second, no limit lets more through than its number, and no token
that was revoked lives again. Only `make long` measures the second.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.memory.admissions import MemoryAdmissions
from adapters.redis.address import read_address
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.lease import Lease, Times
from adapters.redis.shared_pipeline import SharedPipeline
from adapters.system import SystemClock
from application.ports.shared_memory import Admission, PresentedToken
from domain.limits import Hit, Limit
from tests.servers.redis_servers import Cluster, RedisServer, ask, open_cluster, open_sentinels
from tests.waiting import HUNG_AFTER, until

pytestmark = pytest.mark.end_to_end

SUBJECT = "user:a"
TOKEN = PresentedToken({SUBJECT: 1}, ())
CALLER = "user:who asks"
ANSWERS_WITHIN = 1.0


class Revoked:
    """The database's side of revocation: a version that was bumped, which the copy may have lost."""

    def __init__(self) -> None:
        self.waiting: dict[str, int] = {}

    async def due(self, age: float, most: int) -> dict[str, int]:
        return dict(self.waiting)

    async def published(self, versions: Mapping[str, int]) -> None:
        for subject in versions:
            self.waiting.pop(subject, None)


class Traffic:
    """Requests without a pause by a process, with the time that each took."""

    def __init__(self, admissions: RedisAdmissions, limit: Limit) -> None:
        self._admissions, self._hit = admissions, Hit(limit, CALLER)
        self._token = PresentedToken(TOKEN.issued, (self._hit,))
        self.allowed = 0
        self.slowest = 0.0
        self.alive: list[Admission] = []

    async def run(self) -> None:
        while True:
            began = time.monotonic()
            answer = await self._admissions.admit([self._hit], self._token)
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.allowed += answer.verdicts[0].allowed
            # A request that knows no versions asks the database, which knows of the revocation.
            if answer.token_versions is not None and answer.token_versions[SUBJECT] <= 1:
                self.alive.append(answer)
            await asyncio.sleep(0)


@asynccontextmanager
async def process(url: str) -> AsyncIterator[RedisAdmissions]:
    spread = read_address(url).kind == "cluster"
    lease = Lease(SharedPipeline(redis_client(url)), Revoked(), Times(), commands=Commands(spread=spread))
    admissions = RedisAdmissions(lease, MemoryAdmissions(SystemClock()), keeps_count=True)
    async with admissions.kept():
        yield admissions
    await lease.pipeline.close()


async def knows(admissions: RedisAdmissions) -> None:
    """Returns when Redis answers, and its copy knows the version of the subject, which it is told again."""
    async with asyncio.timeout(HUNG_AFTER):
        while (answer := await admissions.admit((), TOKEN)).token_versions is None:
            if answer.ticket is not None:
                await admissions.remember({SUBJECT: 2}, answer.ticket)
            await asyncio.sleep(0.02)
        assert answer.token_versions == {SUBJECT: 2}


async def keeps_its_promises(
    url: str, trouble: Callable[[], Awaitable[None]], *, within: float = ANSWERS_WITHIN
) -> Traffic:
    """Traffic with a revoked token, before, during and after the trouble; ``within`` is for each answer."""
    limit = Limit("asks", 3_000, timedelta(minutes=5))
    async with process(url) as admissions:
        await knows(admissions)
        traffic = Traffic(admissions, limit)
        running = asyncio.create_task(traffic.run())
        try:
            await asyncio.sleep(0.1)
            await trouble()
            await knows(admissions)
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        assert traffic.slowest < within
        assert traffic.alive == []
        # whatever is left may be asked for now, and not one more
        for _ in range(limit.count - traffic.allowed + 50):
            verdict = (await admissions.admit([Hit(limit, CALLER)], None)).verdicts[0]
            traffic.allowed += verdict.allowed
        assert traffic.allowed <= limit.count
    return traffic


@pytest.mark.parametrize(
    "within",
    [
        # how long an answer takes is measured where nothing else runs
        pytest.param(HUNG_AFTER, id="under traffic"),
        pytest.param(ANSWERS_WITHIN, id="and nobody waits", marks=pytest.mark.long),
    ],
)
async def test_a_slot_is_handed_over(tmp_path: Path, within: float) -> None:
    async with open_cluster(tmp_path) as cluster:

        async def hand_over() -> None:
            for key in ("{tenantry}:lease", f"{{tenantry:{CALLER}}}:limit:asks:{CALLER}"):
                first = await cluster.owner(key)
                await cluster.move(key, (first + 1) % 3)
                assert await cluster.owner(key) == (first + 1) % 3

        traffic = await keeps_its_promises(cluster.url, hand_over, within=within)
        assert traffic.allowed >= 2_990  # the request that the end of the traffic cut off may have been counted


@pytest.mark.long
async def test_a_replica_replaces_a_dead_cluster_node(tmp_path: Path) -> None:
    async with open_cluster(tmp_path, replicated=True) as cluster:

        async def kill() -> None:
            place = await cluster.owner("{tenantry}:lease")
            cluster.masters[place].kill()
            await took_over(cluster.replicas[place])

        await keeps_its_promises(cluster.url, kill)


@pytest.mark.long
async def test_a_master_dies_and_sentinels_name_another(tmp_path: Path) -> None:
    async with open_sentinels(tmp_path) as watched:

        async def kill() -> None:
            watched.master.kill()
            await took_over(watched.replica)

        await keeps_its_promises(watched.url, kill)


async def took_over(node: RedisServer) -> None:
    async def role() -> object:
        return (await ask(node, "ROLE"))[0]

    await until(role, "master")


async def test_nodes_share_the_limits_of_callers(tmp_path: Path) -> None:
    async with open_cluster(tmp_path) as cluster, process(cluster.url) as admissions:
        await knows(admissions)
        limit = Limit("asks", 5)
        hits = [Hit(limit, f"user:{number}") for number in range(60)]
        answers = await asyncio.gather(*(admissions.admit([hit], None) for hit in hits))
        assert all(answer.verdicts[0].remaining == 4 for answer in answers)
        assert all([await keys_of_limits(cluster, place) for place in range(3)])


async def keys_of_limits(cluster: Cluster, place: int) -> int:
    keys: list[str] = await ask(cluster.masters[place], "KEYS", "*:limit:*")
    return len(keys)
