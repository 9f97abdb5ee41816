"""Fan-out: adds a delivery for each entry of the log that a webhook wants and that its account may read."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from msgspec.structs import replace

from application.entities.webhooks.disabling import Disabling
from application.entities.webhooks.reading import EventReader
from application.ports.database import Database
from application.ports.entities.changes import Heads, LogEntry, Stream
from application.ports.entities.webhooks import WebhookTransaction
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.entities.declaration import Registry
from domain.entities.webhooks.deliveries import Delivery, message_id
from domain.entities.webhooks.webhooks import Webhook
from domain.errors import CursorExpired
from domain.scope import EveryTenant, OneTenant

WEBHOOKS_AT_ONCE = 100
ENTRIES_AT_ONCE = 1_000
"""Maximum entries of a stream that are read in a transaction."""

POSITIONS_AT_ONCE = 5_000
"""Maximum positions of a stream that are examined in a transaction."""


class _Part(NamedTuple):
    """Positions to examine: above ``after`` up to ``until``."""

    stream: Stream
    after: int
    until: int
    is_replay: bool


@dataclass(frozen=True)
class FanOut:
    database: Database[WebhookTransaction]
    registry: Registry
    disabling: Disabling
    clock: Clock

    async def fan_out(self) -> int:
        """Advance some of the webhooks behind the log; return the number of examined positions."""
        async with self.database.read_only(EveryTenant()) as read:
            behind = await read.webhooks_of_all_tenants.behind(WEBHOOKS_AT_ONCE)
        examined = 0
        for tenant_id, webhook_id in behind:
            try:
                examined += await self._advance(tenant_id, webhook_id)
            except CursorExpired:
                # The log does not store the next entries any more, so somebody must know that they are missing.
                await self.disabling.disable(tenant_id, webhook_id)
        return examined

    @retry_on_conflict
    async def _advance(self, tenant_id: UUID, webhook_id: UUID) -> int:
        async with self.database.transaction(OneTenant(tenant_id)) as tx:
            # Another process that holds the lock advances the webhook.
            webhook = await tx.webhooks.lock(tenant_id, webhook_id, waits=False)
            if webhook is None or not webhook.is_active:
                return 0
            now = self.clock.now()
            listed = await tx.service_accounts.get(tenant_id, webhook.service_account_id, now)
            is_live = listed is not None and listed.account.is_active
            reader = EventReader(self.registry, listed.account) if listed is not None and is_live else None
            heads = await tx.changes.heads()
            examined, advanced = 0, webhook
            for part in _parts(webhook, heads):
                reached = await self._examine(tx, webhook, reader, part, heads.epoch)
                examined, advanced = examined + reached - part.after, _moved(advanced, part, reached)
            await tx.webhooks.save(_without_done_replay(advanced))
            return examined

    async def _examine(
        self, tx: WebhookTransaction, webhook: Webhook, reader: EventReader | None, part: _Part, epoch: UUID
    ) -> int:
        """Add deliveries for some entries; return the last examined position."""
        entities = frozenset[str]() if reader is None else webhook.entities & reader.readable
        until = min(part.until, part.after + POSITIONS_AT_ONCE)
        if reader is None or not entities:
            return until
        read = await tx.changes.after(part.stream, part.after, until, ENTRIES_AT_ONCE, entities)
        found = ((entry, reader.event(entry)) for entry in read.entries)
        wanted = [(entry, event.named(entry.entity)) for entry, event in found if event is not None]
        now = self.clock.now()
        deliveries = [
            _delivery(webhook, entry, name, message_id(webhook.id, epoch, entry.position, part.stream), now)
            for entry, name in wanted
            if webhook.wants(name)
        ]
        await tx.deliveries.add([replace(each, is_shared=part.stream == "shared") for each in deliveries])
        return read.reached


def _delivery(webhook: Webhook, entry: LogEntry, event: str, delivery_id: UUID, now: datetime) -> Delivery:
    return Delivery(
        tenant_id=webhook.tenant_id,
        webhook_id=webhook.id,
        id=delivery_id,
        is_shared=False,
        position=entry.position,
        entity=entry.entity,
        row_id=entry.row_id,
        event=event,
        created_at=now,
        due_at=now,
    )


def _parts(webhook: Webhook, heads: Heads) -> Iterator[_Part]:
    replay = webhook.replay
    parts = [] if replay is None else [_Part("own", replay.own, replay.own_until, is_replay=True)]
    parts += [] if replay is None else [_Part("shared", replay.shared, replay.shared_until, is_replay=True)]
    parts.append(_Part("own", webhook.position, heads.own, is_replay=False))
    parts.append(_Part("shared", webhook.shared_position, heads.shared, is_replay=False))
    yield from (part for part in parts if part.after < part.until)


def _moved(webhook: Webhook, part: _Part, reached: int) -> Webhook:
    if part.is_replay and webhook.replay is not None:
        replay = webhook.replay
        moved = replace(replay, own=reached) if part.stream == "own" else replace(replay, shared=reached)
        return replace(webhook, replay=moved)
    return replace(webhook, position=reached) if part.stream == "own" else replace(webhook, shared_position=reached)


def _without_done_replay(webhook: Webhook) -> Webhook:
    is_done = webhook.replay is not None and webhook.replay.is_done
    return replace(webhook, replay=None) if is_done else webhook
