"""The deliverer: sends due deliveries, lane by lane, and stores the outcomes.

A lane is a host of a tenant. One process at a time holds the leases of a lane, so a slow receiver delays only its lane.
"""

import asyncio
import logging
import secrets as randomness
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from application.entities.webhooks.messages import (
    SecretLost,
    Signing,
    body_of,
    headers_of,
    milliseconds_since,
    opened_secrets,
)
from application.entities.webhooks.outcomes import OutcomeWriter
from application.entities.webhooks.reading import Event, EventReader
from application.ports.database import Database
from application.ports.entities.changes import LogEntry
from application.ports.entities.webhooks import (
    Claimed,
    ClaimSize,
    Signer,
    WebhookClaim,
    WebhookSecrets,
    WebhookTransaction,
)
from application.ports.outgoing import NotAnswered, OutgoingRequests
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.entities.declaration import Registry
from domain.entities.query.query import WHOLE
from domain.entities.webhooks.deliveries import Attempt, Delivery, DeliveryOutcome, outcome_of
from domain.entities.webhooks.webhooks import Webhook
from domain.scope import EveryTenant

LEASE = timedelta(minutes=1)
SENT_WITHIN = timedelta(seconds=15)
"""Time that must be left of a lease when a request begins. A request takes at most ten seconds."""

LANES = 64
FAILING_LANES = 32
"""Lanes for receivers that fail, so that they leave lanes to others."""

DELIVERIES_AT_ONCE = 100
"""Deliveries of a webhook that are leased together."""

CONCURRENT = 4
"""Concurrent requests of a lane."""

RIGHTS_LAST = timedelta(seconds=5)
WAITED_FOR = 0.25
"""Seconds to wait for the end of a lane before the next claim."""

UNREADABLE = "The service account may not read this event any more."
NOT_STORED = "The log does not store this event any more."

log = logging.getLogger(__name__)


class _NotReadable(Exception):
    """The delivery is not sent; the message is the reason."""


@dataclass(frozen=True, kw_only=True)
class Deliverer:
    """Deliverer of this process; any number of processes may deliver at once."""

    database: Database[WebhookTransaction]
    registry: Registry
    outgoing: OutgoingRequests
    signer: Signer
    secrets: WebhookSecrets
    outcomes: OutcomeWriter
    clock: Clock
    _lanes: dict[asyncio.Task[None], bool] = field(default_factory=dict, repr=False)
    """Running lanes, with whether they fail."""

    async def deliver(self) -> int:
        """WebhookClaim due deliveries and begin to send them, or wait shortly for a lane; return the amount of work."""
        claims = await self._claim()
        by_lane: defaultdict[tuple[UUID, str], list[WebhookClaim]] = defaultdict(list)
        for claim in claims:
            by_lane[claim.webhook.tenant_id, claim.webhook.host].append(claim)
        for found in by_lane.values():
            task = asyncio.create_task(self._run(found))
            self._lanes[task] = all(claim.webhook.failing_since is not None for claim in found)
            task.add_done_callback(self._end)
        if claims or not self._lanes:
            return len(claims)
        done, _ = await asyncio.wait(self._lanes, timeout=WAITED_FOR, return_when=asyncio.FIRST_COMPLETED)
        return len(done)

    async def settle(self) -> None:
        """Wait until the running lanes end."""
        while self._lanes:
            await asyncio.wait(self._lanes)

    async def stop(self) -> None:
        """Cancel the running lanes. Another process sends their deliveries after the lease."""
        for task in list(self._lanes):
            task.cancel()
        await self.settle()

    def _end(self, task: asyncio.Task[None]) -> None:
        del self._lanes[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("Deliveries of a webhook ended with an error.", exc_info=error)

    @retry_on_conflict
    async def _claim(self) -> list[WebhookClaim]:
        failing = sum(self._lanes.values())
        size = ClaimSize(
            lanes=LANES - len(self._lanes), failing_lanes=FAILING_LANES - failing, deliveries=DELIVERIES_AT_ONCE
        )
        if size.lanes == 0:
            return []
        async with self.database.transaction(EveryTenant()) as tx:
            return await tx.deliveries.claim(self.clock.now(), LEASE, size)

    async def _run(self, claims: Sequence[WebhookClaim]) -> None:
        lane = _Lane(self, claims, self.clock.now() + LEASE - SENT_WITHIN)
        try:
            await asyncio.gather(*(lane.work() for _ in range(CONCURRENT)))
        finally:
            try:
                await asyncio.gather(*lane.writes)
            finally:
                if lane.left:
                    async with self.database.autocommit(EveryTenant()) as tx:
                        await tx.deliveries.release(lane.left)


class _Lane:
    """Deliveries of one lane, sent by some workers, until one fails or the lease is nearly over."""

    def __init__(self, deliverer: Deliverer, claims: Sequence[WebhookClaim], until: datetime) -> None:
        self._all = deliverer
        self._until = until
        self._waiting = [(claim.webhook, claimed) for claim in claims for claimed in claim.claimed][::-1]
        self._skipped: list[Delivery] = []
        self._failed: set[UUID] = set()
        self._readers: dict[UUID, tuple[datetime, EventReader | None]] = {}
        self._opened: dict[UUID, list[bytes]] = {}
        self.writes: list[asyncio.Task[None]] = []

    @property
    def left(self) -> list[Delivery]:
        """Deliveries that were not tried."""
        return [*self._skipped, *(claimed.delivery for _, claimed in self._waiting)]

    async def work(self) -> None:
        while self._waiting and self._all.clock.now() < self._until:
            webhook, claimed = self._waiting.pop()
            # After a failure, only the retry says whether the receiver is back.
            if webhook.id in self._failed:
                self._skipped.append(claimed.delivery)
            else:
                await self._send(webhook, claimed)

    async def _send(self, webhook: Webhook, claimed: Claimed) -> None:
        now = self._all.clock.now()
        try:
            attempt = await self._attempt(webhook, claimed, now)
        except _NotReadable as reason:
            attempt = Attempt(error=str(reason), was_sent=False)
            outcome = DeliveryOutcome(delivery=claimed.delivery, attempt=attempt, state="given-up", due_at=now)
        else:
            outcome = outcome_of(claimed.delivery, attempt, self._all.clock.now(), randomness.randbelow(1_001) / 1_000)
            if not attempt.is_success:
                self._failed.add(webhook.id)
        # Do not wait: with an order, a claim has one event of each row, so no request depends on a stored outcome.
        self.writes.append(asyncio.create_task(self._all.outcomes.write(outcome)))

    async def _attempt(self, webhook: Webhook, claimed: Claimed, now: datetime) -> Attempt:
        entry, event = await self._readable(webhook, claimed)
        body, began = body_of(webhook, event.named(entry.entity), entry, event), time.perf_counter()
        try:
            opened = self._opened.setdefault(webhook.id, opened_secrets(webhook, self._all.secrets, now))
            headers = headers_of(webhook, claimed.delivery.id, body, now, Signing(self._all.signer, opened))
            reply = await self._all.outgoing.post(webhook.url, headers, body)
        except (NotAnswered, SecretLost) as failure:
            return Attempt(error=str(failure), duration_ms=milliseconds_since(began))
        return Attempt(status=reply.status, duration_ms=milliseconds_since(began), retry_after=reply.retry_after)

    async def _readable(self, webhook: Webhook, claimed: Claimed) -> tuple[LogEntry, Event]:
        """Return the entry and its event. Raises _NotReadable if the account may not read it now."""
        entry = claimed.entry
        if entry is None:
            raise _NotReadable(NOT_STORED)
        reader = await self._reader(webhook)
        event = None if reader is None else reader.event(entry)
        if reader is None or event is None or (event.needs_row and not await self._sees_row(reader, entry)):
            raise _NotReadable(UNREADABLE)
        return entry, event

    async def _reader(self, webhook: Webhook) -> EventReader | None:
        """Return the reader with the rights of the account; they are read again after RIGHTS_LAST."""
        now = self._all.clock.now()
        known = self._readers.get(webhook.service_account_id)
        if known is not None and now - known[0] < RIGHTS_LAST:
            return known[1]
        async with self._all.database.read_only(EveryTenant()) as read:
            listed = await read.service_accounts.get(webhook.tenant_id, webhook.service_account_id, now)
        is_live = listed is not None and listed.account.is_active
        reader = EventReader(self._all.registry, listed.account) if listed is not None and is_live else None
        self._readers[webhook.service_account_id] = now, reader
        return reader

    async def _sees_row(self, reader: EventReader, entry: LogEntry) -> bool:
        async with self._all.database.read_only(reader.own_rows) as read:
            return await read.records.get(self._all.registry[entry.entity], entry.row_id, WHOLE) is not None
