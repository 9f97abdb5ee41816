"""Sessions as a login begins them, for the contracts that need some."""

from application.ports.identity.sessions import Entry
from application.ports.identity.users import Proven
from application.ports.whole_database import Transaction
from domain.audit import AuditEvent
from domain.identity.sessions import Session


async def begin(tx: Transaction, one: Session, proven: Proven | None = None, forgiven: str | None = None) -> bool:
    """By who has just been proven, without a password unless it is said."""
    if proven is None:
        standing = await tx.users.standing(one.user_id)
        assert standing is not None
        proven = Proven(standing, by_password=False)
    line = AuditEvent(actor_id=one.user_id, action="login.succeeded", occurred_at=one.created_at)
    return await tx.sessions.begin(Entry(proven, one, forgiven, line))
