"""Deliveries of a webhook: the list, retries, replays and a test."""

import time
from dataclasses import dataclass
from uuid import UUID

from msgspec.structs import replace

from application.audit import record
from application.entities.webhooks.forms import DeliveryPage, ReplayForm, TestResult, delivery_item
from application.entities.webhooks.messages import (
    SecretLost,
    Signing,
    body_of_test,
    headers_of,
    milliseconds_since,
    opened_secrets,
)
from application.identity.administration.listing import ParameterReader, Parameters, paging
from application.ports.database import Database
from application.ports.entities.changes import Heads, Places
from application.ports.entities.webhooks import DeliveryListing, Signer, WebhookSecrets, WebhookTransaction
from application.ports.outgoing import NotAnswered, OutgoingRequests
from application.ports.runtime import Clock, Ids
from application.retry import retry_on_conflict
from domain.entities.changes.cursors import read_feed_cursor, short_epoch
from domain.entities.webhooks.deliveries import DELIVERY_STATES
from domain.entities.webhooks.webhooks import Replay, Webhook
from domain.errors import BadRequest, CursorExpired, NotFound, ValidationError
from domain.forms import uuid_of
from domain.moments import NotAMoment, read_moment
from domain.scope import Caller, Client, EveryTenant

PARAMETERS = ("page", "pageSize", "state", "event")
LONGEST_EVENT = 200


@dataclass(frozen=True, kw_only=True)
class DeliveryAdministration:
    database: Database[WebhookTransaction]
    outgoing: OutgoingRequests
    signer: Signer
    secrets: WebhookSecrets
    clock: Clock
    ids: Ids

    async def page(self, caller: Caller, webhook_id: UUID, parameters: Parameters) -> DeliveryPage:
        """Return a page of the deliveries, latest first."""
        reader = ParameterReader(parameters, PARAMETERS)
        listing = DeliveryListing(
            tenant_id=caller.tenant.id,
            webhook_id=webhook_id,
            page=reader.page(),
            page_size=reader.page_size(),
            states=reader.choices("state", DELIVERY_STATES),
            event=reader.given.get("event", "")[:LONGEST_EVENT] or None,
        )
        reader.ensure_valid()
        async with self.database.read_only(EveryTenant()) as read:
            await self._webhook(read, caller, webhook_id)
            found, total = await read.deliveries.page(listing)
        return DeliveryPage(items=[delivery_item(each) for each in found], **paging(listing, total))

    @retry_on_conflict
    async def retry(self, caller: Caller, webhook_id: UUID, message: str) -> None:
        """Send a delivery again, with all its tries. Raises NotFound for an unknown ``webhook-id``."""
        delivery_id = uuid_of(message.removeprefix("msg_"))
        async with self.database.transaction(caller.tenant) as tx:
            await self._webhook(tx, caller, webhook_id)
            found = delivery_id is not None and await tx.deliveries.retry(
                caller.tenant.id, webhook_id, delivery_id, self.clock.now()
            )
            if not found:
                raise NotFound

    @retry_on_conflict
    async def replay(self, caller: Caller, webhook_id: UUID, form: ReplayForm, client: Client) -> None:
        """Deliver the events between two places of the log again. Replaces a replay that is not finished."""
        async with self.database.transaction(caller.tenant) as tx:
            webhook = await tx.webhooks.lock(caller.tenant.id, webhook_id, waits=True)
            if webhook is None:
                raise NotFound
            heads = await tx.changes.heads()
            after = await self._place(tx, "after", form.after, heads)
            until = heads if form.until is None else await self._place(tx, "until", form.until, heads)
            replay = Replay(after.own, until.own, after.shared, until.shared)
            await tx.webhooks.save(replace(webhook, replay=None if replay.is_done else replay))
            await record(tx, "webhook.replayed", caller, webhook_id, client, self.clock.now())

    async def test(self, caller: Caller, webhook_id: UUID) -> TestResult:
        """Send the event ``webhook.test`` once, without a delivery."""
        async with self.database.read_only(EveryTenant()) as read:
            webhook = await self._webhook(read, caller, webhook_id)
        now = self.clock.now()
        body, began = body_of_test(webhook, now), time.perf_counter()
        try:
            opened = opened_secrets(webhook, self.secrets, now)
            headers = headers_of(webhook, self.ids.new(), body, now, Signing(self.signer, opened))
            reply = await self.outgoing.post(webhook.url, headers, body)
        except (NotAnswered, SecretLost) as failure:
            return TestResult(status=None, duration_ms=milliseconds_since(began), error=str(failure))
        return TestResult(status=reply.status, duration_ms=milliseconds_since(began), error=None)

    async def _place(self, tx: WebhookTransaction, field: str, text: str, heads: Heads) -> Places:
        try:
            return await tx.deliveries.places_at(read_moment(text)[0])
        except NotAMoment:
            pass
        try:
            place = read_feed_cursor(text)
        except BadRequest:
            raise ValidationError.on(field, "must be a timestamp with a zone, or a cursor of the feed") from None
        if place.epoch != short_epoch(heads.epoch):
            raise CursorExpired
        if place.own > heads.own or place.shared > heads.shared:
            raise ValidationError.on(field, "is not a cursor of this tenant")
        return Places(place.own, place.shared)

    async def _webhook(self, tx: WebhookTransaction, caller: Caller, webhook_id: UUID) -> Webhook:
        listed = await tx.webhooks.get(caller.tenant.id, webhook_id)
        if listed is None:
            raise NotFound
        return listed.webhook
