"""Sessions for contracts that need some."""

from application.ports.identity.sessions import NewLogin
from application.ports.identity.users import VerifiedIdentity
from application.ports.whole_database import Transaction
from domain.identity.tokens import Session
from domain.scope import AuditEvent


async def begin(
    tx: Transaction, session: Session, verified: VerifiedIdentity | None = None, forgiven: str | None = None
) -> bool:
    """Begins the session; without ``verified``, for a user who proved their identity without a password."""
    if verified is None:
        state = await tx.users.state(session.user_id)
        assert state is not None
        verified = VerifiedIdentity(state, by_password=False)
    line = AuditEvent(actor_id=session.user_id, action="login.succeeded", occurred_at=session.created_at)
    return await tx.sessions.begin(NewLogin(verified, session, forgiven, line)) is not None
