"""Requests of webhooks: body, id and signatures."""

import time
from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from application.entities.webhooks.reading import Event
from application.ports.entities.changes import LogEntry
from application.ports.entities.webhooks import Signer, WebhookSecrets
from domain.entities.webhooks.signatures import signed_text
from domain.entities.webhooks.webhooks import TEST_EVENT, Webhook

LARGEST_BODY = 64 * 1024
USER_AGENT = "tenantry-webhooks"


class _Data(Struct, rename="camel", omit_defaults=True):
    id: UUID
    entity: str
    version: int
    action: str
    by: UUID | None
    changed: list[str] | tuple[str, ...]
    object: Raw | None
    truncated: bool = False


class _Body(Struct):
    type: str
    timestamp: str
    data: _Data | dict[str, UUID]


def body_of(webhook: Webhook, name: str, entry: LogEntry, event: Event) -> bytes:
    """Return the body of an event. A row that does not fit is omitted: ``"object": null, "truncated": true``."""
    data = _Data(
        id=entry.row_id,
        entity=entry.entity,
        version=entry.version,
        action=event.action,
        by=entry.by,
        changed=tuple(event.changed),
        object=event.object if webhook.content == "full" else None,
        truncated=webhook.content == "full" and event.is_truncated,
    )
    body = msgspec.json.encode(_Body(name, _wire_time(entry.at), data))
    if len(body) <= LARGEST_BODY:
        return body
    data.object, data.truncated = None, True
    return msgspec.json.encode(_Body(name, _wire_time(entry.at), data))


def body_of_test(webhook: Webhook, now: datetime) -> bytes:
    return msgspec.json.encode(_Body(TEST_EVENT, _wire_time(now), {"id": webhook.id}))


class Signing(Struct, frozen=True):
    """A signer with the secrets that sign now."""

    signer: Signer
    opened: list[bytes]


class SecretLost(Exception):
    """The secret of a webhook was sealed with another secret key of the service."""

    def __init__(self) -> None:
        super().__init__("The secret cannot be opened with the service's secret key: make a new one.")


def opened_secrets(webhook: Webhook, secrets: WebhookSecrets, now: datetime) -> list[bytes]:
    """Return the secrets that sign now. Raises SecretLost if the current one cannot be opened."""
    opened = [secrets.open(webhook.id, sealed) for sealed in webhook.sealed_secrets(now)]
    if opened[0] is None:
        raise SecretLost
    return [secret for secret in opened if secret is not None]


def headers_of(webhook: Webhook, message_id: UUID, body: bytes, at: datetime, signing: Signing) -> Mapping[str, str]:
    """Return the headers of Standard Webhooks; every secret signs exactly these bytes."""
    name = f"msg_{message_id}"
    text = signed_text(name, at, body)
    signatures = [signing.signer.signature(webhook.signature, secret, text) for secret in signing.opened]
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "webhook-id": name,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }


def milliseconds_since(began: float) -> int:
    """Return the time since ``time.perf_counter()`` was ``began``."""
    return round((time.perf_counter() - began) * 1_000)


def _wire_time(at: datetime) -> str:
    return at.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
