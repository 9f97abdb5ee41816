"""Events of the audit trail: the actor, the action, its target, the client and the time."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct


class Client(Struct, frozen=True, kw_only=True):
    """The client of a request.

    ``network`` is the unit that failed logins are counted and locked by: the address itself for IPv4, its /64 for IPv6
    (``2001:db8:1:2::/64``). ``device`` is the client's own description, its User-Agent.
    """

    address: str
    network: str
    device: str = ""
    request_id: str = ""


class AuditEvent(Struct, rename="camel", kw_only=True, frozen=True):
    """A line of the audit trail: ``actor_id`` did ``action`` on ``target_id``. Kept for ever and never changed."""

    actor_id: UUID | None
    action: Annotated[str, Meta(min_length=1, max_length=100)]
    target_id: UUID | None = None
    address: str | None = None
    request_id: str | None = None
    occurred_at: datetime


def event(action: str, actor: UUID | None, target: UUID | None, client: Client, at: datetime) -> AuditEvent:
    """Builds an event; ``action`` is ``<noun>.<participle>``, such as ``login.failed`` or ``role.changed``."""
    return AuditEvent(
        actor_id=actor,
        action=action,
        target_id=target,
        address=client.address,
        request_id=client.request_id,
        occurred_at=at,
    )
