"""Sessions for contracts that need some."""

from msgspec.structs import replace

from application.ports.whole_database import Transaction
from domain.identity.logins import Login
from domain.identity.tokens import Session
from domain.scope import AuditEvent


async def begin(tx: Transaction, session: Session, login: Login | None = None, forgiven: str | None = None) -> bool:
    """Begins the session; without ``login``, for a user who proved their identity without a password."""
    if login is None:
        state = await tx.users.state(session.user_id)
        assert state is not None
        login = Login(state=state, methods=())
    line = AuditEvent(actor_id=session.user_id, action="login.succeeded", occurred_at=session.created_at)
    return await tx.sessions.begin(replace(login, session=session), line, forgiven=forgiven) is not None
