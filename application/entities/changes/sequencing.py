"""The sequencer: gives each entry of the log its position, and wakes the readers."""

from dataclasses import dataclass

from application.ports.database import Database
from application.ports.entities.changes import SequencingTransaction
from application.ports.shared_memory import Wakes
from domain.scope import EveryTenant

AT_ONCE = 1_000
"""Maximum entries of a transaction."""


@dataclass(frozen=True)
class Sequencer:
    database: Database[SequencingTransaction]
    wakes: Wakes

    async def sequence(self) -> int:
        """Give positions to some entries; return their number. Any number of processes may call it at once."""
        # One statement without a transaction, because the queue is usually empty.
        async with self.database.read_only(EveryTenant()) as read:
            if await read.change_queue.oldest() is None:
                return 0
        async with self.database.transaction(EveryTenant()) as tx:
            placed = await tx.change_queue.sequence(AT_ONCE)
        # After the commit: a woken reader must find the entries.
        if placed:
            await self.wakes.publish(placed.keys())
        return sum(placed.values())
