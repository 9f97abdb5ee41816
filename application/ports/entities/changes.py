"""The log of changes: entries in one order per tenant, read after a position.

A tenant has its stream, and the rows that all tenants share have another one. Positions are 1, 2, 3, … in each.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from msgspec import Raw, Struct

from application.ports.entities.history import Action
from application.ports.entities.records import Records
from domain.entities.changes.identity_events import IdentityAction
from domain.entities.declaration import EntityModel
from domain.entities.markers import Through

Stream = Literal["own", "shared"]

LoggedAction = Action | Literal["shared", "unshared"] | IdentityAction
"""A share and its end concern the ``subject`` only. They and the entries of identity have version 0."""


class LogEntry(Struct, frozen=True, kw_only=True):
    """A change of a row.

    ``data`` is the row after the change as an unlimited reader receives it, ``was`` a JSON object of the former values
    of the fields that changed, also of the service's fields in ``FORMER``. Both are None for a large row. ``subject``
    is the user that a share names.
    """

    position: int
    entity: str
    row_id: UUID
    version: int
    action: LoggedAction
    at: datetime
    by: UUID | None
    subject: UUID | None = None
    data: Raw | None = None
    was: Raw | None = None


class Places(Struct, frozen=True):
    """Positions in the tenant's stream and in the shared stream; 0 before the first entry."""

    own: int
    shared: int


class Heads(Places, frozen=True):
    """Highest positions, and their epoch; a restored backup has another one."""

    epoch: UUID


class Read(Struct, frozen=True):
    """Entries in order, and the last position that was examined for them."""

    entries: Sequence[LogEntry]
    reached: int


class Changes(Protocol):
    """The log within the scope of one tenant."""

    async def heads(self) -> Heads: ...

    async def after(self, stream: Stream, position: int, until: int, most: int, entities: Collection[str]) -> Read:
        """Return at most ``most`` entries of these entities, with positions above ``position`` and up to ``until``.

        ``until`` MUST NOT be above the head. Raises CursorExpired if an entry between is no longer stored.
        """
        ...

    async def own_through(self, model: EntityModel, rule: Through, keys: Collection[UUID]) -> Collection[UUID]:
        """Return the rows at the end of the rule's first relation, among ``keys``, by which the rule holds.

        The scope MUST be limited to own rows; so it MUST be for the next two methods.
        """
        ...

    async def shared_among(self, model: EntityModel, ids: Collection[UUID]) -> Collection[UUID]:
        """Return the rows among ``ids`` that are shared with the caller."""
        ...

    async def own_among(self, model: EntityModel, ids: Collection[UUID]) -> Collection[UUID]:
        """Return the live rows among ``ids`` that the caller sees."""
        ...


class ChangesTransaction(Protocol):
    """Database parts for reading the log."""

    @property
    def records(self) -> Records: ...
    @property
    def changes(self) -> Changes: ...


class ChangeQueue(Protocol):
    """Entries that have no position yet. The caller MUST have the scope of every tenant."""

    async def oldest(self) -> datetime | None:
        """Return the time of the change that waits longest, None if no entry waits."""
        ...

    async def sequence(self, most: int) -> Mapping[UUID | None, int]:
        """Give positions to at most ``most`` entries in a transaction, and return their numbers by tenant.

        Returns nothing at once while another transaction does so. None is the tenant of shared rows.
        """
        ...


class SequencingTransaction(Protocol):
    """Transaction for the sequencer."""

    @property
    def change_queue(self) -> ChangeQueue: ...
