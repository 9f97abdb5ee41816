"""Administration of the webhooks of the caller's tenant."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from msgspec import UNSET
from msgspec.structs import replace

from application.audit import record
from application.entities.webhooks.forms import (
    NewWebhook,
    WebhookChange,
    WebhookForm,
    WebhookItem,
    ensure_valid,
    new_webhook,
    webhook_item,
)
from application.ports.database import Database
from application.ports.entities.webhooks import ListedWebhook, Signer, WebhookSecrets, WebhookTransaction
from application.ports.outgoing import NotAnswered, OutgoingRequests
from application.ports.runtime import Clock, Ids
from application.retry import retry_on_conflict
from domain.entities.declaration import Registry
from domain.entities.webhooks.destinations import read_destination
from domain.entities.webhooks.webhooks import BOTH_SIGN_FOR, WEBHOOKS_PER_TENANT, Webhook
from domain.errors import NotFound, QuotaExceeded, ValidationError
from domain.identity.administration import ensure_may_give
from domain.scope import Caller, Client, EveryTenant


@dataclass(frozen=True, kw_only=True)
class WebhookAdministration:
    """Use cases of administrators. ``recent`` is the greatest age of a proof for another host."""

    database: Database[WebhookTransaction]
    registry: Registry
    outgoing: OutgoingRequests
    signer: Signer
    secrets: WebhookSecrets
    clock: Clock
    ids: Ids
    recent: timedelta

    async def all(self, caller: Caller) -> list[WebhookItem]:
        """Return the tenant's webhooks, oldest first."""
        async with self.database.read_only(EveryTenant()) as read:
            found = await read.webhooks.all(caller.tenant.id)
        return [self._item(listed) for listed in found]

    async def get(self, caller: Caller, webhook_id: UUID) -> WebhookItem:
        async with self.database.read_only(EveryTenant()) as read:
            return self._item(await self._found(read, caller, webhook_id))

    async def create(self, caller: Caller, form: WebhookForm, client: Client) -> NewWebhook:
        """Create a webhook that begins at the head of the log. The caller must hold the account's permissions."""
        ensure_valid(form, self._feeds)
        host = await self._allowed_host(form.url)
        return await self._create(caller, form, host, client)

    @retry_on_conflict
    async def _create(self, caller: Caller, form: WebhookForm, host: str, client: Client) -> NewWebhook:
        now, webhook_id, secret = self.clock.now(), self.ids.new(), self.signer.new_secret()
        async with self.database.transaction(caller.tenant) as tx:
            if await tx.webhooks.count(caller.tenant.id) >= WEBHOOKS_PER_TENANT:
                raise QuotaExceeded(f"A tenant has at most {WEBHOOKS_PER_TENANT} webhooks: delete one first.")
            await self._ensure_account(tx, caller, form.service_account_id, now)
            heads = await tx.changes.heads()
            webhook = Webhook(
                id=webhook_id,
                tenant_id=caller.tenant.id,
                service_account_id=form.service_account_id,
                url=form.url,
                host=host,
                description=form.description,
                events=tuple(dict.fromkeys(form.events)),
                content=form.content,
                signature=form.signature,
                order_by=form.order,
                is_active=form.is_active,
                sealed=self.secrets.seal(webhook_id, secret),
                position=heads.own,
                shared_position=heads.shared,
                created_at=now,
                created_by=caller.user_id,
            )
            await tx.webhooks.add(webhook)
            await record(tx, "webhook.created", caller, webhook_id, client, now)
        return self._shown_once(ListedWebhook(webhook, 0), secret)

    async def update(self, caller: Caller, webhook_id: UUID, form: WebhookChange, client: Client) -> WebhookItem:
        """Change the webhook. Activation forgets its failures, and begins at the head of the log.

        Raises ReauthenticationRequired for another host without a recent proof.
        """
        ensure_valid(form, self._feeds)
        host = None if form.url is UNSET else await self._allowed_host(form.url)
        return await self._update(caller, webhook_id, form, host, client)

    @retry_on_conflict
    async def _update(
        self, caller: Caller, webhook_id: UUID, form: WebhookChange, host: str | None, client: Client
    ) -> WebhookItem:
        now = self.clock.now()
        async with self.database.transaction(caller.tenant) as tx:
            webhook = await self._locked(tx, caller, webhook_id)
            if host not in (None, webhook.host):
                caller.ensure_recent(now, self.recent)
            changed = _changed(webhook, form, host)
            await self._ensure_account(tx, caller, changed.service_account_id, now)
            if changed.is_active and not webhook.is_active:
                heads = await tx.changes.heads()
                changed = replace(
                    changed, disabled_at=None, failing_since=None, position=heads.own, shared_position=heads.shared
                )
            await tx.webhooks.save(changed)
            await record(tx, "webhook.changed", caller, webhook_id, client, now)
            return self._item(await self._found(tx, caller, webhook_id))

    @retry_on_conflict
    async def delete(self, caller: Caller, webhook_id: UUID, client: Client) -> None:
        """Delete the webhook with its deliveries."""
        async with self.database.transaction(caller.tenant) as tx:
            if not await tx.webhooks.remove(caller.tenant.id, webhook_id):
                raise NotFound
            await record(tx, "webhook.deleted", caller, webhook_id, client, self.clock.now())

    @retry_on_conflict
    async def rotate(self, caller: Caller, webhook_id: UUID, client: Client) -> NewWebhook:
        """Return the webhook with a new secret; the former one signs too for BOTH_SIGN_FOR."""
        now, secret = self.clock.now(), self.signer.new_secret()
        async with self.database.transaction(caller.tenant) as tx:
            webhook = await self._locked(tx, caller, webhook_id)
            await self._ensure_account(tx, caller, webhook.service_account_id, now)
            rotated = replace(
                webhook,
                sealed=self.secrets.seal(webhook_id, secret),
                sealed_before=webhook.sealed,
                before_until=now + BOTH_SIGN_FOR,
            )
            await tx.webhooks.save(rotated)
            await record(tx, "webhook.secret-rotated", caller, webhook_id, client, now)
            return self._shown_once(await self._found(tx, caller, webhook_id), secret)

    @property
    def _feeds(self) -> frozenset[str]:
        return frozenset(model.plural for model in self.registry if model.declaration.changes)

    async def _allowed_host(self, url: str) -> str:
        """Return the host of the URL. Raises ValidationError if the service may not send requests to it."""
        try:
            host = read_destination(url).host
            await self.outgoing.ensure_allowed(url)
        except ValueError as error:
            raise ValidationError.on("url", str(error)) from None
        except NotAnswered as error:
            raise ValidationError.on("url", f"cannot be used: {error}") from None
        return host

    async def _ensure_account(self, tx: WebhookTransaction, caller: Caller, account_id: UUID, now: datetime) -> None:
        # Security: a webhook reads with the account's permissions, so its maker must hold them.
        listed = await tx.service_accounts.get(caller.tenant.id, account_id, now)
        if listed is None:
            raise ValidationError.on("serviceAccountId", "is not a service account of the tenant")
        ensure_may_give(caller, listed.account.roles)

    async def _locked(self, tx: WebhookTransaction, caller: Caller, webhook_id: UUID) -> Webhook:
        webhook = await tx.webhooks.lock(caller.tenant.id, webhook_id, waits=True)
        if webhook is None:
            raise NotFound
        return webhook

    async def _found(self, tx: WebhookTransaction, caller: Caller, webhook_id: UUID) -> ListedWebhook:
        listed = await tx.webhooks.get(caller.tenant.id, webhook_id)
        if listed is None:
            raise NotFound
        return listed

    def _item(self, listed: ListedWebhook) -> WebhookItem:
        webhook = listed.webhook
        secret = self.secrets.open(webhook.id, webhook.sealed) if webhook.signature == "v1a" else None
        return webhook_item(listed, None if secret is None else self.signer.shown("v1a", secret))

    def _shown_once(self, listed: ListedWebhook, secret: bytes) -> NewWebhook:
        is_shared = listed.webhook.signature == "v1"
        return new_webhook(self._item(listed), self.signer.shown("v1", secret) if is_shared else None)


def _changed(webhook: Webhook, form: WebhookChange, host: str | None) -> Webhook:
    names = ("url", "service_account_id", "content", "description", "is_active")
    given = {name: value for name in names if (value := getattr(form, name)) is not UNSET}
    if form.events is not UNSET:
        given["events"] = tuple(dict.fromkeys(form.events))
    if form.order is not UNSET:
        given["order_by"] = form.order
    return replace(webhook, host=host or webhook.host, **given)
