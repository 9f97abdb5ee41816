"""Metrics: answers, load and shared state in the text of Prometheus.

Outcomes, CodeOutcomes, InvitationOutcomes: every listener learns each outcome, and without one nothing happens.

Database: a transaction is all or nothing, and invisible to others before the commit.

Clock and ids: times are aware and in UTC, ids sort in the order of their creation.

The audit trail: lines are rows of the entity ``audit-events`` in their tenant.
"""

from datetime import UTC, timedelta
from uuid import UUID

import msgspec
import pytest

from adapters.memory.clock import CountingIds, MovableClock
from adapters.prometheus.metrics import PrometheusMetrics
from adapters.prometheus.outcomes import CodeCounts, InvitationCounts, SecondFactorCounts
from adapters.system import SystemClock, Uuid7Ids
from application.ports.access_log import AccessLine
from application.ports.entities.webhooks import WebhookBacklog
from application.ports.load import HashLoad, PoolLoad, ReplicaLoad
from application.ports.metrics import Metrics, ProcessLoad, SharedState
from application.ports.runtime import Clock, Ids
from application.ports.whole_database import WholeDatabase
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE, Path, Query, SortKey
from domain.errors import InternalError
from domain.scope import AuditEvent, EveryTenant, OneTenant
from tests.builders import NOW, new_id

STATE = SharedState(
    database=True,
    redis=False,
    migrations_pending=None,
    mails=None,
    oldest_mail=timedelta(0),
    changes_lag=timedelta(seconds=4),
    webhooks=WebhookBacklog(waiting=3, given_up=2),
)


def test_answers_are_counted_by_endpoint_and_status() -> None:
    metrics: Metrics = PrometheusMetrics()
    for status in (200, 200, 404):
        metrics.see(AccessLine("GET", "/", status, 0.004, "id", "192.0.2.1", None, "products.read"))
    lines = metrics.text(STATE).decode().splitlines()
    assert 'tenantry_answers_total{endpoint="products.read",status="200"} 2.0' in lines
    assert 'tenantry_answers_total{endpoint="products.read",status="404"} 1.0' in lines
    assert 'tenantry_answer_seconds_count{endpoint="products.read"} 3.0' in lines


def test_the_last_load_of_a_process_counts() -> None:
    metrics: Metrics = PrometheusMetrics()
    for in_use in (7, 3):
        pool = PoolLoad(in_use=in_use, idle=2, most=20, waiting=0)
        loaded = ProcessLoad(
            pool=pool, hashes=HashLoad(), replicas=ReplicaLoad(), limits_refused=0, revocation_fallbacks=0, streams=4
        )
        metrics.see_load(loaded)
    text = metrics.text(STATE).decode()
    assert [line.rpartition(" ")[2] for line in text.splitlines() if 'connections{state="in_use"' in line] == ["3.0"]
    assert "tenantry_changes_streams 4.0" in text.splitlines()


def test_every_listener_learns_what_came_of_a_second_factor() -> None:
    counts = SecondFactorCounts()
    counts.count("totp", "refused")
    heard: list[tuple[str, str]] = []
    for _ in range(2):
        counts.listeners.append(lambda method, outcome: heard.append((method, outcome)))
    counts.count("passkey", "passed")
    assert heard == [("passkey", "passed"), ("passkey", "passed")]


def test_every_listener_learns_what_came_of_a_code() -> None:
    counts = CodeCounts()
    counts.count("issued")
    heard: list[str] = []
    for _ in range(2):
        counts.listeners.append(heard.append)
    counts.count("redeemed")
    assert heard == ["redeemed", "redeemed"]


def test_every_listener_learns_what_came_of_an_invitation() -> None:
    counts = InvitationCounts()
    counts.count("sent", 100)
    heard: list[tuple[str, int]] = []
    for _ in range(2):
        counts.listeners.append(lambda outcome, many: heard.append((outcome, many)))
    counts.count("sent", 3)
    counts.count("accepted")
    assert heard == [("sent", 3), ("sent", 3), ("accepted", 1), ("accepted", 1)]


SUBJECT = "user:ada"


def test_the_lag_of_the_feed_and_the_backlog_of_webhooks_are_gauges() -> None:
    lines = PrometheusMetrics().text(STATE).decode().splitlines()
    assert "tenantry_changes_lag_seconds 4.0" in lines
    assert 'tenantry_webhook_backlog{state="waiting"} 3.0' in lines
    assert 'tenantry_webhook_backlog{state="given_up"} 2.0' in lines


async def count(database: WholeDatabase) -> int:
    async with database.read_only(EveryTenant()) as read:
        return (await read.token_versions.of([SUBJECT]))[SUBJECT]


async def test_it_is_ready(database: WholeDatabase) -> None:
    assert await database.is_ready()


async def test_leaving_a_transaction_commits_it(database: WholeDatabase) -> None:
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump([SUBJECT])
        assert await tx.token_versions.of([SUBJECT]) == {SUBJECT: 1}
        assert await count(database) == 0
    assert await count(database) == 1


async def test_an_exception_rolls_back_the_whole_transaction(database: WholeDatabase) -> None:
    async def raise_and_fail() -> None:
        async with database.transaction(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])
            raise LookupError

    with pytest.raises(LookupError):
        await raise_and_fail()
    assert await count(database) == 0


async def test_a_statement_in_autocommit_is_committed_despite_a_later_exception(database: WholeDatabase) -> None:
    async def raise_and_fail() -> None:
        async with database.autocommit(EveryTenant()) as tx:
            await tx.token_versions.bump([SUBJECT])
            raise LookupError

    with pytest.raises(LookupError):
        await raise_and_fail()
    assert await count(database) == 1


async def test_a_write_on_a_read_only_connection_is_refused(database: WholeDatabase) -> None:
    with pytest.raises(InternalError):
        async with database.read_only(EveryTenant()) as read:
            await read.token_versions.bump([SUBJECT])
    assert await count(database) == 0


async def test_a_connection_that_was_read_only_writes_again(database: WholeDatabase) -> None:
    assert await count(database) == 0
    async with database.autocommit(EveryTenant()) as tx:
        await tx.token_versions.bump([SUBJECT])
    async with database.transaction(EveryTenant()) as tx:
        await tx.token_versions.bump([SUBJECT])
    assert await count(database) == 2


@pytest.mark.parametrize("clock", [SystemClock(), MovableClock()])
def test_a_clock_is_in_utc_and_never_goes_back(clock: Clock) -> None:
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)
    assert {time.tzinfo for time in times} == {UTC}


@pytest.mark.parametrize("ids", [Uuid7Ids(), CountingIds()])
def test_ids_are_uuids_of_version_7_in_ascending_order(ids: Ids) -> None:
    made = [ids.new() for _ in range(10_000)]
    assert made == sorted(set(made))
    assert {(new_id.version, new_id.variant) for new_id in made} == {(7, "specified in RFC 4122")}


def test_a_movable_clock_moves_by_the_given_duration() -> None:
    clock = MovableClock()
    before = clock.now()
    clock.move(timedelta(hours=1))
    assert clock.now() - before == timedelta(hours=1)


def test_counting_ids_are_the_same_at_every_run() -> None:
    assert CountingIds().new() == CountingIds().new()


NEWEST = Query(sort=(SortKey(Path((), "occurred_at"), True), SortKey(Path((), "id"), True)))


@pytest.mark.promise("identity, administration: the audit trail, by tenant")
async def test_an_event_is_read_in_its_own_tenant(database: WholeDatabase, registry: Registry) -> None:
    here, there = new_id(), new_id()
    event = AuditEvent(actor_id=new_id(), action="login.succeeded", target_id=None, address="::1", occurred_at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.audit.add(here, event)
    pages = {}
    for tenant_id in (here, there):
        async with database.read_only(OneTenant(tenant_id)) as read:
            pages[tenant_id] = await read.records.page(registry["audit-events"], NEWEST)
    assert pages[there].length == 0
    (row,) = msgspec.json.decode(pages[here].items)
    assert (row["action"], row["actorId"], row["tenantId"]) == ("login.succeeded", str(event.actor_id), str(here))
    assert row["occurredAt"] == "2026-11-20T12:00:00.123456Z"


async def test_an_event_for_several_tenants_is_stored_once_for_each_tenant(
    database: WholeDatabase, registry: Registry
) -> None:
    told, other = [new_id() for _ in range(3)], new_id()
    event = AuditEvent(actor_id=new_id(), action="user.changed", target_id=new_id(), address="::1", occurred_at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.audit.add_to_each([*told, told[0]], event)
        await tx.audit.add_to_each([], event)
    rows = []
    for tenant_id in (*told, other):
        async with database.read_only(OneTenant(tenant_id)) as read:
            rows.append(msgspec.json.decode((await read.records.page(registry["audit-events"], NEWEST)).items))
    assert [len(lines) for lines in rows] == [1, 1, 1, 0]
    assert len({line["id"] for (line,) in rows[:3]}) == 3
    assert {(line["action"], line["targetId"]) for (line,) in rows[:3]} == {("user.changed", str(event.target_id))}


async def test_an_event_never_changes_and_has_no_version(database: WholeDatabase, registry: Registry) -> None:
    here = new_id()
    event = AuditEvent(actor_id=new_id(), action="login.succeeded", target_id=None, address="::1", occurred_at=NOW)
    async with database.transaction(EveryTenant()) as tx:
        await tx.audit.add(here, event)
    async with database.read_only(OneTenant(here)) as read:
        page = await read.records.page(registry["audit-events"], NEWEST)
        (row,) = msgspec.json.decode(page.items)
        stored = await read.records.get(registry["audit-events"], UUID(row["id"]), WHOLE)
    assert stored is not None
    assert stored.version == 0
