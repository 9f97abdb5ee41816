"""First use of a ticket, for those that serve once and change nothing else in the database when they do."""

from datetime import datetime

from application.ports.database import Database
from application.ports.identity.passwords import NonceTransaction
from application.ports.identity.sessions import T, Ticket
from domain.scope import EveryTenant


async def is_first_use(database: Database[NonceTransaction], opened: Ticket[T], now: datetime) -> bool:
    """Consumes the ticket; False for one that was consumed before, however many requests bring it at once."""
    async with database.autocommit(EveryTenant()) as tx:
        return await tx.used_nonces.consume(opened.id, opened.until, now)
