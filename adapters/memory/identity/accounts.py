"""Tokens of mailed links, the credentials that these links change, used nonces, and the remaining imported hashes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec.structs import replace

from adapters.memory.identity.state import IssuedToken
from adapters.memory.identity.users import unlink_all
from adapters.memory.store import Access, Store
from application.ports.identity.accounts import EmailChange, OneTimeToken, Purpose
from application.ports.identity.passwords import FOREIGN
from domain.limits import LINKS_APART


@dataclass(frozen=True)
class MemoryOneTimeTokens:
    access: Access

    async def issue(self, token: OneTimeToken) -> bool:
        async with self.access.write() as store:
            stored = _of(store, token.user_id, token.purpose)
            if any(_refuses(issued, token) for issued in stored):
                return False
            store.one_time_tokens[_key(token)] = IssuedToken(token=token)
            return True

    async def living(self, purpose: Purpose, token_hash: str, now: datetime) -> OneTimeToken | None:
        found = _living(self.access.read(), purpose, token_hash, now)
        return found.token if found else None

    async def consume(self, purpose: Purpose, token_hash: str, now: datetime) -> bool:
        async with self.access.write() as store:
            found = _living(store, purpose, token_hash, now)
            if found is None:
                return False
            store.one_time_tokens[_key(found.token)] = replace(found, used_at=now)
            return True

    async def forget(self, user_id: UUID, purposes: Sequence[Purpose], at: datetime) -> None:
        async with self.access.write() as store:
            for purpose in purposes:
                for issued in _of(store, user_id, purpose):
                    if not issued.is_used:
                        store.one_time_tokens[_key(issued.token)] = replace(issued, used_at=at)


def _key(token: OneTimeToken) -> tuple[UUID, Purpose, int]:
    return (token.user_id, token.purpose, token.number)


def _of(store: Store, user_id: UUID, purpose: Purpose) -> list[IssuedToken]:
    return [issued for key, issued in store.one_time_tokens.items() if key[:2] == (user_id, purpose)]


def _refuses(issued: IssuedToken, token: OneTimeToken) -> bool:
    stored = issued.token
    # If a mail is sent again, it issues the same token again, unless this token or a newer one was used.
    if stored.number >= token.number and issued.is_used:
        return True
    is_other = stored.number != token.number and stored.email_key == token.email_key
    return is_other and not issued.is_used and stored.issued_at > token.issued_at - LINKS_APART


def _living(store: Store, purpose: Purpose, token_hash: str, now: datetime) -> IssuedToken | None:
    for (_, kind, _), issued in store.one_time_tokens.items():
        if kind == purpose and issued.token.hash == token_hash and not issued.is_used and issued.token.expires_at > now:
            return issued
    return None


@dataclass(frozen=True)
class MemoryEmailChanges:
    access: Access

    async def of_user(self, user_id: UUID) -> EmailChange | None:
        return self.access.read().email_changes.get(user_id)

    async def by_hash(self, hashed: str, now: datetime) -> EmailChange | None:
        changes = self.access.read().email_changes.values()
        return next((change for change in changes if change.hash == hashed and change.expires_at > now), None)

    async def save(self, change: EmailChange) -> None:
        async with self.access.write() as store:
            store.email_changes[change.user_id] = change

    async def end(self, user_id: UUID) -> bool:
        async with self.access.write() as store:
            found = store.email_changes.get(user_id)
            if found is None or not found.email:
                return False
            store.email_changes[user_id] = replace(found, email="", email_key="", hash=f"ended:{user_id}")
            return True


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
            if not user.email_proved:
                unlink_all(store, user_id)
            proved_at = user.email_proved_at if user.email_proved else at
            store.users[user_id] = replace(
                user, email_confirmed=True, email_proved=True, email_proved_at=proved_at, updated_at=at
            )
            return True

    async def end_passkey_logins(self, user_id: UUID, before: datetime | None) -> int:
        async with self.access.write() as store:
            ended = {
                key: replace(factor, credential=replace(factor.credential, uv_initialized=False))
                for key, factor in store.factors.items()
                if factor.user_id == user_id and (before is None or factor.created_at < before)
                if factor.credential is not None and factor.credential.uv_initialized
            }
            store.factors = {**store.factors, **ended}
            return len(ended)


@dataclass(frozen=True)
class MemoryImportedHashes:
    access: Access

    async def any_left(self) -> bool:
        return any((user.password_hash or "").startswith(FOREIGN) for user in self.access.read().users.values())


@dataclass(frozen=True)
class MemoryUsedNonces:
    access: Access

    async def consume(self, nonce: str, until: datetime, now: datetime) -> bool:
        async with self.access.write() as store:
            end = store.used_nonces.get(nonce)
            if end is not None and end > now:
                return False
            store.used_nonces[nonce] = until
            return True
