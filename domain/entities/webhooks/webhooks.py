"""Webhooks: what a tenant sends where, and which events a pattern names."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import Struct

from domain.entities.changes.identity_events import IDENTITY_EVENTS
from domain.entities.webhooks.signatures import SignatureScheme

WEBHOOKS_PER_TENANT = 20
MOST_PATTERNS = 50

BOTH_SIGN_FOR = timedelta(hours=24)
"""Time after a rotation in which the former secret signs too."""

FAILING_DISABLES_AFTER = timedelta(days=3)

Content = Literal["thin", "full"]
"""``thin`` sends no row, only its id and version."""

Order = Literal["row", "none"]
"""With ``row``, the next event of a row waits until the previous one is delivered or given up."""

ACTIONS = ("created", "changed", "deleted", "restored", "purged", "entered", "left")
EVERY_ACTION = "*"
TEST_EVENT = "webhook.test"


class Replay(Struct, frozen=True):
    """Positions to deliver again: above ``own`` up to ``own_until``, and the same of the shared stream."""

    own: int
    own_until: int
    shared: int
    shared_until: int

    @property
    def is_done(self) -> bool:
        return self.own >= self.own_until and self.shared >= self.shared_until


class Webhook(Struct, frozen=True, kw_only=True):
    """A webhook of a tenant.

    It receives what its service account may read. ``sealed`` is the secret for the database, ``sealed_before`` the
    former one, used until ``before_until``. ``position`` and ``shared_position`` are the last examined positions of the
    log.
    """

    id: UUID
    tenant_id: UUID
    service_account_id: UUID
    url: str
    host: str
    description: str
    events: tuple[str, ...]
    content: Content
    signature: SignatureScheme
    order_by: Order
    is_active: bool
    sealed: str
    sealed_before: str | None = None
    before_until: datetime | None = None
    position: int
    shared_position: int
    replay: Replay | None = None
    created_at: datetime
    created_by: UUID | None
    disabled_at: datetime | None = None
    failing_since: datetime | None = None
    last_success_at: datetime | None = None
    last_status: int | None = None

    @property
    def state(self) -> Literal["ok", "failing", "disabled"]:
        if self.disabled_at is not None:
            return "disabled"
        return "ok" if self.failing_since is None else "failing"

    def sealed_secrets(self, now: datetime) -> list[str]:
        """Return the secrets that sign now, the current one first."""
        former = self.sealed_before if self.before_until is not None and now < self.before_until else None
        return [self.sealed] if former is None else [self.sealed, former]

    def wants(self, event: str) -> bool:
        """Return whether a pattern names the event, such as ``orders.changed``."""
        return event in self.events or f"{event.partition('.')[0]}.{EVERY_ACTION}" in self.events

    @property
    def entities(self) -> frozenset[str]:
        """Entities of the log that the patterns name."""
        named = {pattern.partition(".")[0] for pattern in self.events}
        of_identity = {event.entity for event in IDENTITY_EVENTS.values() if event.name.partition(".")[0] in named}
        return frozenset(named | of_identity)


def pattern_error(pattern: str, entities: Collection[str], actions: Sequence[str]) -> str | None:
    """Return the error of a pattern such as ``orders.*``, None if it names an entity with a feed and its action.

    With some feed, ``member.joined`` and the other events of members, roles and tenants are valid too.
    """
    entity, _, action = pattern.partition(".")
    known: dict[str, Sequence[str]] = {}
    for name in IDENTITY_EVENTS if entities else ():
        known[name.partition(".")[0]] = (*known.get(name.partition(".")[0], ()), name.partition(".")[2])
    known |= dict.fromkeys(sorted(entities), actions)
    if entity not in known:
        names = ", ".join(known) or "declare one with changes=True"
        return f"must begin with an entity that has a feed: {names}"
    actions = known[entity]
    if action != EVERY_ACTION and action not in actions:
        return f"must end with .* or one of: {', '.join(actions)}"
    return None
