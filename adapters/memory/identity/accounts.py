"""Storage of one-time tokens, and changes of passwords and addresses by account holders."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.store import Access, IssuedToken, Store
from application.ports.identity.accounts import OneTimeToken, Purpose


@dataclass(frozen=True)
class MemoryOneTimeTokens:
    access: Access

    async def issue(self, token: OneTimeToken) -> bool:
        async with self.access.write() as store:
            stored = store.one_time_tokens.get((token.user_id, token.purpose))
            if stored is not None and not _is_replaced_by(stored, token):
                return False
            store.one_time_tokens[token.user_id, token.purpose] = IssuedToken(token=token)
            return True

    async def living(self, purpose: Purpose, token_hash: str, now: datetime) -> OneTimeToken | None:
        found = _living(self.access.read(), purpose, token_hash, now)
        return found.token if found else None

    async def consume(self, purpose: Purpose, token_hash: str, now: datetime) -> bool:
        async with self.access.write() as store:
            found = _living(store, purpose, token_hash, now)
            if found is None:
                return False
            store.one_time_tokens[found.token.user_id, purpose] = replace(found, used_at=now)
            return True

    async def forget(self, user_id: UUID, purposes: Sequence[Purpose], at: datetime) -> None:
        async with self.access.write() as store:
            for purpose in purposes:
                if stored := store.one_time_tokens.get((user_id, purpose)):
                    store.one_time_tokens[user_id, purpose] = replace(stored, used_at=at)


def _is_replaced_by(stored: IssuedToken, token: OneTimeToken) -> bool:
    number = stored.token.number
    # A mail that is sent again issues its own token again, unless it was used.
    return number < token.number or (number == token.number and not stored.is_used)


def _living(store: Store, purpose: Purpose, token_hash: str, now: datetime) -> IssuedToken | None:
    for (_, kind), issued in store.one_time_tokens.items():
        if kind == purpose and issued.token.hash == token_hash and not issued.is_used and issued.token.expires_at > now:
            return issued
    return None


@dataclass(frozen=True)
class MemoryCredentials:
    access: Access

    async def set_password(self, user_id: UUID, password_hash: str, at: datetime) -> None:
        async with self.access.write() as store:
            if user := store.users.get(user_id):
                store.users[user_id] = replace(
                    user, password_hash=password_hash, password_set_at=at, must_change_password=False, updated_at=at
                )

    async def confirm_email(self, user_id: UUID, email_key: str, at: datetime) -> bool:
        async with self.access.write() as store:
            user = store.users.get(user_id)
            if user is None or user.email_key != email_key:
                return False
            store.users[user_id] = replace(user, email_confirmed=True, email_proved=True, updated_at=at)
            return True
