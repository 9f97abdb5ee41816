"""What metrics tell of a process and of what all processes share, also while that is away.

Traffic: points between two readings of the counters.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from adapters.argon2 import Argon2Passwords, Cost
from application.operations import monitoring
from application.operations.monitoring import Monitoring
from application.operations.traffic import EVERY, READINGS, Traffic
from application.ports.access_log import AccessLine
from application.ports.database import Mail
from application.ports.load import HashLoad
from application.ports.mail_delivery import MailBacklog
from application.ports.shared_memory import Admission, Admissions, KnownVersions, PresentedToken
from application.ports.whole_database import Transaction, WholeDatabase
from application.throttle import Throttle
from domain.errors import ServiceUnavailable, TooBusy
from domain.limits import Hit, Limit, Verdict
from domain.scope import EveryTenant, Scope
from entrypoints.cli.operator import operator
from tests.builders import new_id
from tests.http.app import TestApp, open_test_app


@pytest.fixture
async def app() -> AsyncIterator[TestApp]:
    opened = await open_test_app()
    yield opened
    await opened.client.aclose()


@dataclass(frozen=True)
class BrokenDatabase:
    """The memory's database, which fails or never answers."""

    database: WholeDatabase
    hangs: bool = False

    @asynccontextmanager
    async def read_only(self, scope: Scope) -> AsyncIterator[Transaction]:
        if self.hangs:
            await asyncio.Event().wait()
        else:
            raise ServiceUnavailable
        async with self.database.read_only(scope) as read:
            yield read

    transaction = autocommit = read_only

    async def is_ready(self) -> bool:
        return False


async def test_monitoring_reports_the_age_of_the_oldest_mail(app: TestApp) -> None:
    watched, clock = app.services.monitoring, app.services.clock
    before = await watched.shared_state()
    assert (before.database, before.redis, before.migrations_pending) == (True, True, False)
    assert before.oldest_mail == timedelta()
    async with app.services.database.autocommit(EveryTenant()) as tx:
        sent = clock.now() - timedelta(minutes=7)
        await tx.outbox.add(Mail(id=new_id(), kind="reset", recipient="ada@example.com", at=sent))
    after = await watched.shared_state()
    assert after.mails == MailBacklog(waiting=1, oldest=sent, given_up=0)
    assert after.oldest_mail == timedelta(minutes=7)


async def test_monitoring_reports_an_unreachable_database_and_no_values_from_it(app: TestApp) -> None:
    broken = replace(app.services.monitoring, database=BrokenDatabase(app.services.database))
    state = await broken.shared_state()
    assert (state.database, state.redis) == (False, True)
    assert (state.migrations_pending, state.mails, state.oldest_mail) == (None, None, None)
    assert (state.changes_lag, state.webhooks) == (None, None)


async def test_a_database_that_never_answers_is_not_waited_for(app: TestApp) -> None:
    assert timedelta(seconds=2) >= monitoring.PATIENCE  # Prometheus itself waits for ten
    broken = BrokenDatabase(app.services.database, hangs=True)
    hanging = replace(app.services.monitoring, database=broken, patience=timedelta(milliseconds=10))
    assert not (await hanging.shared_state()).database


@dataclass(frozen=True)
class ForgetfulAdmissions:
    """Admissions that count in memory and know no token versions, as with Redis away."""

    admissions: Admissions

    async def admit(self, hits: Sequence[Hit], _: PresentedToken | None) -> Admission:
        return Admission((await self.admissions.admit(hits, None)).verdicts, None)

    async def alive(self, issued: Sequence[Mapping[str, int]]) -> KnownVersions:  # it knows none
        return KnownVersions({})

    async def recount(self, counted: Sequence[Hit], instead: Sequence[Hit]) -> tuple[Verdict, ...]:
        return await self.admissions.recount(counted, instead)

    async def remember(self, counts: Mapping[str, int], ticket: str) -> None: ...

    async def is_shared(self) -> bool:
        return False


async def test_checks_that_the_database_answered_and_refusals_are_counted(app: TestApp) -> None:
    services = app.services
    throttle = Throttle(ForgetfulAdmissions(services.admissions), services.database)
    loads, counts = app.adapters.loads, throttle.counts
    watched = Monitoring(services.database, throttle.admissions, services.clock, loads, counts, lambda: 3)
    for _ in range(5):
        await throttle.admit([Hit(Limit("x", 2), "somebody")], operator(), [])
    load = watched.load()
    assert (load.limits_refused, load.revocation_fallbacks) == (3, 5)
    assert not (await watched.shared_state()).redis


async def test_monitoring_reports_waiting_and_refused_password_hashes() -> None:
    # slow enough that the first is not over before the fourth has asked
    passwords = Argon2Passwords(Cost(memory_kib=32_768, passes=4), cores=1, waiting=2)
    hashing = [asyncio.create_task(passwords.hash("correct horse")) for _ in range(4)]
    await asyncio.sleep(0)  # each has asked for its room, and none has heard of its end
    with pytest.raises(TooBusy):
        await hashing[3]
    assert passwords.load().refused == 1
    await asyncio.gather(*hashing[:3])
    while passwords.load().running:  # noqa: ASYNC110  # a thread says so, and tells nobody
        await asyncio.sleep(0)
    assert passwords.load() == HashLoad(running=0, waiting=0, most_waiting=2, refused=1)
    passwords.close()


START = 1_795_000_000.0


class Watch:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> float:
        return self.at


class Service:
    """Counters with their readings, as a service has them."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.traffic = Traffic(self.watch)

    def answer(self, status: int = 200, took: float = 0.004, operation: str = "products.page", times: int = 1) -> None:
        line = AccessLine("GET", "/api/products", status, took, "id", "192.0.2.1", None, operation)
        for _ in range(times):
            self.traffic.see(line)


def test_a_point_has_the_requests_of_its_minute() -> None:
    service = Service()
    service.answer(times=98)
    service.answer(500, 3.0)
    service.answer(429)
    service.watch.at += EVERY
    service.answer(times=2)
    first, second = service.traffic.report().points
    assert (first.requests, first.errors, first.refused, first.seconds) == (100, 1, 1, EVERY)
    assert (second.requests, second.errors, second.seconds) == (2, 0, 0.0)
    assert first.at.timestamp() == START + EVERY


def test_times_lie_within_their_bucket() -> None:
    service = Service()
    service.answer(took=0.004, times=98)
    service.answer(took=3.0, times=2)
    (point,) = service.traffic.report().points
    assert point.p50 is not None
    assert point.p99 is not None
    assert 2.5 <= point.p50 <= 5.0
    assert 2_500 <= point.p99 <= 5_000
    slow = Service()
    slow.answer(took=60.0)
    assert slow.traffic.report().points[0].p99 == 10_000


def test_idle_minutes_and_requests_to_health_and_metrics_add_no_points() -> None:
    service = Service()
    service.answer(operation="health.ready", times=5)
    service.answer(operation="metrics")
    service.watch.at += 10 * EVERY
    assert service.traffic.report().points == []
    service.answer()
    service.watch.at += EVERY
    assert [point.requests for point in service.traffic.report().points] == [1]


def test_traffic_is_stored_for_six_hours() -> None:
    service = Service()
    for _ in range(READINGS + 50):
        service.answer()
        service.watch.at += EVERY
    assert len(service.traffic.report().points) == READINGS
