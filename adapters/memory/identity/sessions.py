"""Sessions, one row each."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.identity.attempts import forgive, is_known
from adapters.memory.identity.state import Failures
from adapters.memory.identity.users import account_state_in, living_sessions
from adapters.memory.mail import put_in
from adapters.memory.operations.audit import note
from adapters.memory.store import Access, Store
from application.ports.database import Mail
from application.ports.runtime import Ids
from domain.identity.logins import Login
from domain.identity.tokens import SESSIONS_AT_MOST, Lifetimes, Session, is_expired
from domain.identity.users import AccountState, User
from domain.scope import SYSTEM_TENANT_ID, AuditEvent


@dataclass(frozen=True)
class MemorySessions:
    access: Access
    ids: Ids

    async def by_id(self, session_id: UUID) -> Session | None:
        return self.access.read().sessions.get(session_id)

    async def with_account_state(self, session_id: UUID) -> tuple[Session, AccountState] | None:
        store = self.access.read()
        session = store.sessions.get(session_id)
        state = account_state_in(store, session.user_id) if session else None
        return (session, state) if session and state else None

    async def begin(
        self, login: Login, line: AuditEvent, *, forgiven: str | None = None, notice: Mail | None = None
    ) -> list[UUID] | None:
        seen, renewed, session = login.state.user, login.renewed, login.session
        assert session is not None
        async with self.access.write() as store:
            user = store.users.get(seen.id)
            # The login's proof, password or address owner, must not have changed.
            proof = "password_set_at" if login.by_password else "email_proved"
            if user is None or not user.is_active or getattr(user, proof) != getattr(seen, proof):
                return None
            stored = renewed.hash if renewed and renewed.seen == user.password_hash else user.password_hash
            store.users[user.id] = replace(user, last_login_at=session.created_at, password_hash=stored)
            if notice is not None and self._is_new(store, user, session, forgiven):
                put_in(store, notice)
            kept = sorted(living_sessions(store, user.id), key=lambda old: (old.rotated_at, old.id), reverse=True)
            ended = kept[SESSIONS_AT_MOST - 1 :]
            for old in ended:
                store.sessions[old.id] = replace(old, ended_at=session.created_at)
            if forgiven is not None:
                forgive(store, user.email_key, forgiven, session.created_at)
            store.sessions[session.id] = session
            note(store, session.tenant_id or SYSTEM_TENANT_ID, self.ids.new(), line)
        return [old.id for old in ended]

    def _is_new(self, store: Store, user: User, begun: Session, forgiven: str | None) -> bool:
        own = [session for session in store.sessions.values() if session.user_id == user.id]
        if any(session.device == begun.device for session in own):
            return False
        if forgiven is None:
            return all(session.address != begun.address for session in own)
        failures = store.attempts.get((user.email_key, forgiven), Failures())
        return not is_known(failures, begun.created_at)

    async def rotate(self, session: Session, seen: int) -> bool:
        async with self.access.write() as store:
            stored = store.sessions.get(session.id)
            if stored is None or stored.ended_at is not None or stored.counter != seen:
                return False
            # Write only these columns, because others may have changed concurrently.
            store.sessions[session.id] = replace(
                stored,
                counter=session.counter,
                tenant_id=session.tenant_id,
                rotated_at=session.rotated_at,
                methods=session.methods,
                authenticated_at=session.authenticated_at,
            )
            return True

    async def end(self, session_id: UUID, at: datetime) -> bool:
        async with self.access.write() as store:
            session = store.sessions.get(session_id)
            if session is None or session.ended_at is not None:
                return False
            store.sessions[session_id] = replace(session, ended_at=at)
            return True

    async def keep_out(self, user_id: UUID, tenant_id: UUID, at: datetime) -> None:
        async with self.access.write() as store:
            stored = store.memberships.get((user_id, tenant_id))
            if stored is not None:
                store.memberships[user_id, tenant_id] = replace(stored, sessions_ended_at=at)

    async def living(self, user_id: UUID, now: datetime, lifetimes: Lifetimes) -> list[Session]:
        not_ended = living_sessions(self.access.read(), user_id)
        living = [session for session in not_ended if not is_expired(session, now, lifetimes)]
        return sorted(living, key=lambda session: (session.rotated_at, session.id), reverse=True)
