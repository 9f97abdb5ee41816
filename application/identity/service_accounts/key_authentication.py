"""Authentication by API key: malformed keys need no lookup, a key's first use needs one statement, later uses none."""

import asyncio
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import Struct

from application.identity.service_accounts.last_uses import LastUses
from application.ports.database import Database
from application.ports.identity.service_accounts import ServiceAccountTransaction
from application.ports.shared_memory import Admissions
from domain.bounded_cache import BoundedCache
from domain.errors import Forbidden, RateLimited, TokenInvalid, Unauthorized
from domain.identity.service_accounts import (
    LONGEST_KEY,
    UNKNOWN_KEYS,
    KeyState,
    Network,
    is_key,
    is_within,
    key_digest,
    read_networks,
    service_caller,
)
from domain.limits import Hit
from domain.scope import Caller, Client, EveryTenant, event

KEYS_REMEMBERED = 10_000
REMEMBERED_FOR = timedelta(minutes=10)
"""Time for which a process caches the caller of a key. Token versions reveal changes during this time."""

ABSENT_FOR = timedelta(seconds=10)
"""Time to cache that a key is unknown or ended."""

REFUSAL_NOTED_EVERY = timedelta(minutes=1)
"""Minimum time between two audit entries about refusals of one key, because the trail is permanent."""


class KnownKey(Struct, frozen=True, kw_only=True):
    """Cached data of a key, valid without a lookup until the epoch second ``until``."""

    state: KeyState
    caller: Caller
    networks: tuple[Network, ...] | None
    until: float


@dataclass(frozen=True, eq=False)
class KeyAuthentication:
    """Authentication by API keys; it caches callers by the digests of their keys.

    With ``counts_limits`` False it looks up every key, as benchmarks require; with ``enforced`` False limits never
    refuse.
    """

    database: Database[ServiceAccountTransaction]
    admissions: Admissions
    last_uses: LastUses
    counts_limits: bool = True
    enforced: bool = True
    _known: BoundedCache[bytes, KnownKey] = field(default_factory=lambda: BoundedCache(KEYS_REMEMBERED), repr=False)
    _absent: BoundedCache[bytes, Unauthorized] = field(
        default_factory=lambda: BoundedCache(KEYS_REMEMBERED), repr=False
    )
    _noted: BoundedCache[UUID, bool] = field(default_factory=lambda: BoundedCache(KEYS_REMEMBERED), repr=False)
    _reading: dict[bytes, asyncio.Future[KnownKey]] = field(default_factory=dict, repr=False)

    async def caller(self, text: str, client: Client, now: datetime) -> Caller:
        """Return the account of a key.

        Raises TokenInvalid with the same message for unknown and ended keys, TokenExpired, Forbidden from a network
        that the key does not allow, and RateLimited for too many unknown keys from the client's network.
        """
        return (await self.known(text, client, now)).caller

    async def known(self, text: str, client: Client, now: datetime) -> KnownKey:
        """Return the key with its rights; raise as ``caller`` does."""
        # Skip the checksum of a cached key, because it is known to be correct.
        if len(text) > LONGEST_KEY:
            raise TokenInvalid
        digest = key_digest(text)
        known = self._known.get(digest)
        if known is None or known.until <= now.timestamp():
            if not is_key(text):
                raise TokenInvalid
            known = await self._read_together(digest, client, now)
        if known.networks is not None and not is_within(known.networks, client.address):
            await self._note_refusal(known.state, client, now)
            raise Forbidden("The key may not be used from this network.")
        self.last_uses.note(known.state.key.id, now, client.address)
        return known

    async def renewed(self, text: str, client: Client, now: datetime) -> KnownKey:
        """Return the current account for a key with an outdated cached caller; raises as ``caller`` does."""
        digest = key_digest(text)
        self._known.drop(digest)
        # This process knew the key recently, so the request is not a guess: do not count it.
        return await self._read(digest, client, now)

    async def renewed_caller(self, text: str, client: Client, now: datetime) -> Caller:
        return (await self.renewed(text, client, now)).caller

    async def _read_together(self, digest: bytes, client: Client, now: datetime) -> KnownKey:
        """Concurrent requests with the same key share one look-up."""
        if (refusal := self._absent.get(digest)) is not None:
            self._absent.drop_ended(now.timestamp())
            if digest in self._absent:
                raise type(refusal)(refusal.message)
        # Join a running lookup of this key, so that a restart does not ask once per request.
        reading = self._reading.get(digest)
        if reading is None:
            reading = self._reading[digest] = asyncio.ensure_future(self._counted_read(digest, client, now))
            reading.add_done_callback(lambda _: self._reading.pop(digest, None))
        # A disconnecting client must not cancel the shared lookup.
        return await asyncio.shield(reading)

    async def _counted_read(self, digest: bytes, client: Client, now: datetime) -> KnownKey:
        hits = [Hit(UNKNOWN_KEYS, f"address:{client.network}")] if self.counts_limits else []
        for verdict in (await self.admissions.admit(hits, None)).verdicts if hits else ():
            # Security: limit guesses before asking the database.
            if not verdict.allowed and self.enforced:
                raise RateLimited(verdict.retry_after)
        known = await self._read(digest, client, now)
        if hits:
            # Refund the hit of a valid key, so that accounts behind one address do not exhaust the limit.
            await self.admissions.recount(hits, ())
        return known

    async def _read(self, digest: bytes, client: Client, now: datetime) -> KnownKey:
        async with self.database.read_only(EveryTenant()) as read:
            state = await read.api_keys.state(digest)
        if state is None:
            self._remember_absent(digest, TokenInvalid(), now)
            raise TokenInvalid
        try:
            state.ensure_lives(now)
        except Unauthorized as refusal:
            # Cache only final states: an account or tenant may be reopened at any time.
            if state.key.ends_at is not None and state.key.ends_at <= now:
                self._remember_absent(digest, refusal, now)
            await self._note_refusal(state, client, now)
            raise
        return self._remember(digest, state, now)

    def _remember(self, digest: bytes, state: KeyState, now: datetime) -> KnownKey:
        ends_at = state.key.ends_at
        until = min(filter(None, (ends_at, now + REMEMBERED_FOR)))
        known = KnownKey(
            state=state,
            caller=service_caller(state, now),
            networks=read_networks(state.key.networks),
            until=until.timestamp(),
        )
        self._known.put(digest, known, 1, known.until)
        return known

    def _remember_absent(self, digest: bytes, refusal: Unauthorized, now: datetime) -> None:
        self._absent.drop_ended(now.timestamp())
        self._absent.put(digest, refusal, 1, (now + ABSENT_FOR).timestamp())

    async def _note_refusal(self, state: KeyState, client: Client, now: datetime) -> None:
        key = state.key
        self._noted.drop_ended(now.timestamp())
        if key.id in self._noted:
            return
        self._noted.put(key.id, True, 1, (now + REFUSAL_NOTED_EVERY).timestamp())
        try:
            async with self.database.autocommit(EveryTenant()) as tx:
                await tx.audit.add(key.tenant_id, event("key.refused", key.account_id, key.id, client, now))
        except BaseException:
            self._noted.drop(key.id)  # the next refusal tries again
            raise
