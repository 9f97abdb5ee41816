"""RowReads and WriteAheadLog: answers are the primary's, and positions never lie before a commit.

LastWrites: what a session wrote is known to every process, or nothing is.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID, uuid4

import asyncpg
import pytest

from adapters.memory.clock import MovableClock
from adapters.memory.last_writes import MemoryLastWrites
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.replicas.positions import PAGE, PAGE_HEADER, PrimaryLog, replayable
from adapters.postgres.replicas.reads import replica_reads
from adapters.redis.client import redis_client
from adapters.redis.last_writes import RedisLastWrites
from adapters.redis.shared_pipeline import SharedPipeline
from application.ports.database import RowReads
from application.ports.replicas import BEGINNING, NOWHERE_YET, LastWrites, Position, WriteAheadLog
from application.ports.whole_database import Transaction, WholeDatabase
from application.primary_reads import PrimaryReads
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant
from tests.servers.redis_servers import RedisServer
from tests.waiting import HUNG_AFTER


@pytest.fixture
async def all_reads(database: WholeDatabase) -> AsyncIterator[list[RowReads[Transaction]]]:
    plain: RowReads[Transaction] = PrimaryReads(database)
    if not isinstance(database, PostgresDatabase):
        yield [plain]
        return
    made = replica_reads(database, [database.url])  # which is no replica, and so never asked
    await made.open()
    yield [plain, made]
    await made.close()


async def test_the_answer_to_a_question_is_returned(all_reads: list[RowReads[Transaction]]) -> None:
    for reads in all_reads:
        assert await reads.read(EveryTenant(), lambda read: read.outbox.given_up(1)) == []


async def test_a_transaction_for_reads_reads(all_reads: list[RowReads[Transaction]]) -> None:
    for reads in all_reads:
        async with reads.read_transaction(EveryTenant()) as read:
            assert await read.outbox.given_up(1) == []


@pytest.fixture
async def log(postgres: PostgresDatabase) -> AsyncIterator[WriteAheadLog]:
    made = replica_reads(postgres, [])
    yield made
    await made.close()


@pytest.mark.promise("scale, replicas: no position lies before a commit that was answered")
async def test_the_position_is_at_or_behind_every_commit_that_was_answered(
    log: WriteAheadLog, owner: "asyncpg.Connection[asyncpg.Record]"
) -> None:
    # The end of a transaction's commit record, as the server itself finds it in its log, is not known to SQL: but no
    # position that is asked for on the same connection, after the commit, can be later than one that is asked for then.
    await owner.execute("CREATE TEMP TABLE written (number int)")
    asked = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint"
    before = BEGINNING
    for number in range(50):
        await owner.execute("INSERT INTO written SELECT generate_series(1, $1)", number % 7 + 1)
        after_commit = replayable(await owner.fetchval(asked))
        position = await log.position()
        assert position >= before
        assert position.offset >= after_commit
        before = position


async def test_many_who_ask_at_once_share_one_statement(log: WriteAheadLog) -> None:
    first = asyncio.ensure_future(log.position())
    await asyncio.sleep(0)
    others = await asyncio.gather(*(log.position() for _ in range(50)))
    assert len(set(others)) == 1
    assert others[0] >= await first


async def test_without_replicas_a_position_is_replayed_at_once(log: WriteAheadLog) -> None:
    await log.replayed(await log.position())


async def test_a_log_that_is_away_says_so() -> None:
    log = PrimaryLog("postgresql://127.0.0.1:1/nowhere")
    with pytest.raises(ServiceUnavailable):
        await log.position()
    await log.close()


def test_a_page_header_at_the_end_of_the_log_counts_for_the_page_before() -> None:
    assert replayable(5 * PAGE + PAGE_HEADER) == 5 * PAGE
    for reached in (5 * PAGE, 5 * PAGE + PAGE_HEADER + 8, 5 * PAGE - 8):
        assert replayable(reached) == reached


@pytest.fixture(params=["memory", "redis"])
async def last_writes(request: pytest.FixtureRequest) -> AsyncIterator[LastWrites]:
    if request.param == "memory":
        yield MemoryLastWrites(MovableClock())
        return
    pipeline = SharedPipeline(redis_client(request.getfixturevalue("redis_server").url), patience=HUNG_AFTER)
    yield RedisLastWrites(pipeline, prefix=uuid4().hex, on_all_after=0)
    await pipeline.close()


@pytest.fixture
def session() -> UUID:
    return uuid4()


async def test_a_session_that_wrote_nothing_may_read_anywhere(last_writes: LastWrites, session: UUID) -> None:
    assert await last_writes.of(session) == BEGINNING


async def test_the_last_write_is_known(last_writes: LastWrites, session: UUID) -> None:
    for position in (Position(1, 0xFF), Position(1, 0x100), Position(2, 0x80), Position(0xA, 1), NOWHERE_YET):
        assert await last_writes.note(session, position)
        assert await last_writes.of(session) == position
    assert await last_writes.of(uuid4()) == BEGINNING


async def test_an_earlier_write_that_is_noted_later_changes_nothing(last_writes: LastWrites, session: UUID) -> None:
    for position in (Position(2, 0x10), Position(1, 0xFFFF), Position(2, 0xF)):
        await last_writes.note(session, position)
        assert await last_writes.of(session) == Position(2, 0x10)


async def test_a_write_is_remembered_for_a_minute(redis_server: RedisServer, session: UUID) -> None:
    clock = MovableClock()
    memory = MemoryLastWrites(clock)
    await memory.note(session, Position(1, 1))
    clock.move(timedelta(seconds=60) - timedelta.resolution)
    assert await memory.of(session) == Position(1, 1)
    clock.move(timedelta.resolution)
    assert await memory.of(session) == BEGINNING
    pipeline, prefix = SharedPipeline(redis_client(redis_server.url), patience=HUNG_AFTER), uuid4().hex
    async with redis_client(redis_server.url) as client:
        before, _ = await client.time()
        await RedisLastWrites(pipeline, prefix=prefix, on_all_after=0).note(session, Position(1, 1))
        after, _ = await client.time()
        ends_at = await client.pexpiretime(f"{{{prefix}}}:written:{session}") / 1_000
    await pipeline.close()
    assert before + 60 <= ends_at < after + 61


async def test_an_unavailable_store_knows_and_stores_no_last_writes(redis_server: RedisServer, session: UUID) -> None:
    pipeline = SharedPipeline(redis_client(redis_server.url), patience=HUNG_AFTER)
    away = RedisLastWrites(pipeline, prefix=uuid4().hex, on_all_after=0)
    redis_server.kill()
    assert await away.of(session) is None
    assert not await away.note(session, Position(1, 1))
    await pipeline.close()
    redis_server.start()  # for others
    memory = MemoryLastWrites(MovableClock())
    memory.down = True
    assert await memory.of(session) is None
    assert not await memory.note(session, Position(1, 1))


@pytest.mark.promise("scale, replicas: neither a Redis that is away nor one that lost its memory makes a write vanish")
async def test_a_recently_started_redis_trusts_only_writes_noted_since_its_start(
    redis_server: RedisServer, session: UUID
) -> None:
    pipeline, prefix = SharedPipeline(redis_client(redis_server.url), patience=HUNG_AFTER), uuid4().hex
    young = RedisLastWrites(pipeline, prefix=prefix, on_all_after=60)
    assert await young.of(session) is None
    await young.note(session, Position(1, 1))
    assert await young.of(session) == Position(1, 1)
    assert await young.of(uuid4()) is None
    # What another server has kept, and a dump or a replica of it brings along, is not believed either.
    async with redis_client(redis_server.url) as client:
        await client.set(f"{{{prefix}}}:written", "0 0123456789abcdef")
    assert await young.of(uuid4()) is None
    async with redis_client(redis_server.url) as client:
        server = (await client.info("server"))["run_id"]
        await client.set(f"{{{prefix}}}:written", f"0 {server}")
    assert await young.of(uuid4()) == BEGINNING
    await pipeline.close()
