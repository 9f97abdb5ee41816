"""RowReads and WriteAheadLog: answers are the primary's, and positions never lie before a commit."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from adapters.postgres.database import PostgresDatabase
from adapters.postgres.replicas.positions import PAGE, PAGE_HEADER, PrimaryLog, replayable
from adapters.postgres.replicas.reads import replica_reads
from application.ports.database import RowReads
from application.ports.replicas import BEGINNING, WriteAheadLog
from application.ports.whole_database import Transaction, WholeDatabase
from application.primary_reads import PrimaryReads
from domain.errors import ServiceUnavailable
from domain.scope import EveryTenant


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


async def test_without_replicas_nobody_waits(log: WriteAheadLog) -> None:
    await log.replayed(await log.position())


async def test_a_log_that_is_away_says_so() -> None:
    log = PrimaryLog("postgresql://127.0.0.1:1/nowhere")
    with pytest.raises(ServiceUnavailable):
        await log.position()
    await log.close()


def test_a_header_that_stands_alone_on_its_page_counts_for_the_page_before() -> None:
    assert replayable(5 * PAGE + PAGE_HEADER) == 5 * PAGE
    for reached in (5 * PAGE, 5 * PAGE + PAGE_HEADER + 8, 5 * PAGE - 8):
        assert replayable(reached) == reached
