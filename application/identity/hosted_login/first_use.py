"""First use of a single-use ticket without another database change."""

from datetime import datetime

from application.ports.database import Database
from application.ports.identity.passwords import NonceTransaction
from application.ports.identity.sessions import T, Ticket
from domain.scope import EveryTenant


async def is_first_use(database: Database[NonceTransaction], opened: Ticket[T], now: datetime) -> bool:
    """Consume the ticket; return False if it was consumed before, also by a concurrent request."""
    async with database.autocommit(EveryTenant()) as tx:
        return await tx.used_nonces.consume(opened.id, opened.until, now)
