"""Authentication by API key: no look-up for noise, one statement for a key's first use, none afterwards."""

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
"""Time for which the caller behind a key is remembered; all that may change meanwhile is under a token version."""

ABSENT_FOR = timedelta(seconds=10)
"""Time for which it is remembered that there is no such key, or that it has ended."""

REFUSAL_NOTED_EVERY = timedelta(minutes=1)
"""Time between two lines of the audit trail about refusals of the same key: the trail is kept for ever."""


class KnownKey(Struct, frozen=True, kw_only=True):
    """What is remembered of a key. ``until`` is an epoch second: until then the key needs no look-up."""

    state: KeyState
    caller: Caller
    networks: tuple[Network, ...] | None
    until: float


@dataclass(frozen=True, eq=False)
class KeyAuthentication:
    """Authentication by API keys, which remembers callers by the digests of their keys.

    ``counts_limits`` False looks every key up, as benchmarks do; with ``enforced`` False limits never refuse.
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
        """The account behind a key.

        Raises TokenInvalid, alike for unknown and ended keys, TokenExpired, Forbidden from a network that the key
        does not name, and RateLimited where too many unknown keys came from the client's network.
        """
        return (await self.known(text, client, now)).caller

    async def known(self, text: str, client: Client, now: datetime) -> KnownKey:
        """The key with all that decides what it may do; raises as ``caller`` does."""
        # The checksum of a known key is right: it is computed for others alone.
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
        """The account as it is now, for a key whose remembered caller is out of date; raises as ``caller`` does."""
        digest = key_digest(text)
        self._known.drop(digest)
        # A key that was known a moment ago is no guess, and is not counted as one.
        return await self._read(digest, client, now)

    async def renewed_caller(self, text: str, client: Client, now: datetime) -> Caller:
        return (await self.renewed(text, client, now)).caller

    async def _read_together(self, digest: bytes, client: Client, now: datetime) -> KnownKey:
        """Requests that come with the same key at once share one look-up."""
        if (refusal := self._absent.get(digest)) is not None:
            self._absent.drop_ended(now.timestamp())
            if digest in self._absent:
                raise type(refusal)(refusal.message)
        # Another request with this key may be asking already: a restart must not ask once for every request.
        reading = self._reading.get(digest)
        if reading is None:
            reading = self._reading[digest] = asyncio.ensure_future(self._counted_read(digest, client, now))
            reading.add_done_callback(lambda _: self._reading.pop(digest, None))
        # A client that leaves must not cancel what the others wait for.
        return await asyncio.shield(reading)

    async def _counted_read(self, digest: bytes, client: Client, now: datetime) -> KnownKey:
        hits = [Hit(UNKNOWN_KEYS, f"address:{client.network}")] if self.counts_limits else []
        for verdict in (await self.admissions.admit(hits, None)).verdicts if hits else ():
            # Guessing is bounded before the database is asked.
            if not verdict.allowed and self.enforced:
                raise RateLimited(verdict.retry_after)
        known = await self._read(digest, client, now)
        if hits:
            # A good key takes its hit back: many accounts behind one address must not starve.
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
            # What can never live again is remembered; an account or a tenant may be opened the next moment.
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
