"""What the audit trail is told: who did what on whom, from where, when."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct


class Client(Struct, frozen=True, kw_only=True):
    """``network`` is what is counted and locked: the address, or its /64 for IPv6; ``device`` is its own word."""

    address: str
    network: str
    device: str = ""
    request_id: str = ""


class AuditEvent(Struct, rename="camel", kw_only=True, frozen=True):
    """Who did what on whom; kept for ever, and changed by nobody."""

    actor_id: UUID | None
    action: Annotated[str, Meta(min_length=1, max_length=100)]
    target_id: UUID | None = None
    address: str | None = None
    request_id: str | None = None
    occurred_at: datetime


def event(action: str, actor: UUID | None, target: UUID | None, client: Client, at: datetime) -> AuditEvent:
    """``action`` is ``<noun>.<what happened to it>``, such as ``login.failed`` or ``role.changed``."""
    return AuditEvent(
        actor_id=actor,
        action=action,
        target_id=target,
        address=client.address,
        request_id=client.request_id,
        occurred_at=at,
    )
