"""A deletion that cascades to very many rows."""

import asyncio
import sys
from time import monotonic

import pytest

from adapters.postgres.database import PostgresDatabase
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import FEEDS

ROWS = 50_000
DRAINED_WITHIN, OTHERS_WAIT = 30.0, 2.0
"""Seconds."""
_CARDS = """
INSERT INTO cards (tenant_id, id, title, secret, board_id, created_at, updated_at, version, is_deleted)
SELECT $1, gen_random_uuid(), 'card ' || n, '', $2, now(), now(), 1, false FROM generate_series(1, $3) n"""


@pytest.mark.promise("entities, changes: a cascade over 50,000 rows has positions in 30 s; others wait at most 2 s")
async def test_a_cascade_over_many_rows_delays_others_little(postgres_followed: PostgresDatabase) -> None:
    desk, other = Desk(postgres_followed), Desk(postgres_followed)
    board = await desk.add("boards")
    async with postgres_followed.transaction(desk.tenant) as tx:
        await tx.connection.execute(_CARDS, desk.tenant.id, board, ROWS)
    await desk.sequence()
    await desk.remove("boards", board)
    began = monotonic()
    sequencing = asyncio.create_task(desk.sequence())
    waits = []
    while not sequencing.done():
        label, written = await other.add("labels"), monotonic()
        while not await has_entry(other, label):  # noqa: ASYNC110  # another task gives the positions
            await asyncio.sleep(0.01)
        waits.append(monotonic() - written)
    await sequencing
    drained = monotonic() - began
    sys.stdout.write(f"{ROWS} entries in {drained:.1f} s; others waited {max(waits):.2f} s\n")
    async with postgres_followed.read_only(desk.tenant) as read:
        assert (await read.changes.heads()).own == ROWS + 2
        found = await read.changes.after("own", 1, ROWS + 2, ROWS + 2, FEEDS)
    assert {entry.action for entry in found.entries} == {"deleted"}
    assert len({entry.row_id for entry in found.entries}) == ROWS + 1
    assert drained < DRAINED_WITHIN
    assert max(waits) < OTHERS_WAIT


async def has_entry(desk: Desk, row_id: object) -> bool:
    async with desk.database.read_only(desk.tenant) as read:
        head = (await read.changes.heads()).own
        found = await read.changes.after("own", desk.seen, head, 100, FEEDS)
    desk.seen = found.reached
    return any(entry.row_id == row_id for entry in found.entries)
