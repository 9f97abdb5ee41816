"""The rows of entities, as far as the transaction's scope reaches."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Raw, Struct

from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query, View

Values = Mapping[str, object]
"""Declared fields by Python name, with the values that the entity's own struct holds."""


class Stored(Struct, frozen=True):
    """A row as it is answered: ``body`` is its JSON object, in the order of ``EntityModel.fields``."""

    id: UUID
    version: int
    body: Raw


class Current(Struct, frozen=True):
    """A living row as rules see it: all declared fields."""

    version: int
    values: Values


class NewRow(Struct, frozen=True):
    id: UUID
    values: Values


class Change(Struct, frozen=True):
    """``version`` is the one the caller saw, or None when any will do."""

    id: UUID
    values: Values
    version: int | None = None


class RowPage(Struct, frozen=True):
    """``items`` is a JSON array of ``length`` rows. ``total`` is None when it was not asked for.

    ``last`` holds the sort values of the last row, for the cursor of the page after it, None on the last page.
    """

    items: Raw
    length: int
    total: int | None
    has_next: bool
    total_is_estimate: bool = False
    last: tuple[object, ...] | None = None


class Act(Struct, frozen=True):
    """Who writes, and when: what the audit columns get."""

    by: UUID | None
    at: datetime


class Records(Protocol):
    """Every method sees the rows of the transaction's scope only; another tenant's row is absent.

    JSON is camelCase, decimals are numbers with their scale, times UTC with ``Z``. Under EveryTenant each row
    shows its ``tenantId``, and writing raises BadRequest for entities that tenants own.
    """

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None: ...

    async def page(self, model: EntityModel, query: Query) -> RowPage: ...

    async def current(self, model: EntityModel, ids: Sequence[UUID], *, locked: bool = True) -> dict[UUID, Current]:
        """The living rows among ``ids``, in one order; ``locked`` until the transaction ends."""
        ...

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        """All or none, answered in the order given.

        Raises Conflict naming the field whose unique value is taken, ValidationError on a field that refers to
        no living row of this tenant; with several rows fields are named ``items[3].sku``.
        """
        ...

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        """All or none, each raising its version by one; only the values given change.

        Raises NotFound (naming ``items[2].id`` when several), PreconditionFailed on another version, and what
        ``add`` raises.
        """
        ...

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: int | None) -> list[UUID]:
        """Marks living rows deleted, or deletes them where the entity has no soft delete; answers those it found.

        References to them do as declared: restrict raises Conflict, cascade goes with them, clear is emptied.
        Raises PreconditionFailed when ``version`` is given and another one is stored.
        """
        ...

    async def restore(self, model: EntityModel, row_id: UUID, act: Act) -> Stored:
        """Brings a deleted row back, and what its deletion took along by cascade; what was cleared stays cleared.

        Raises NotFound, and Conflict when it is not deleted, when a unique value has been taken meanwhile, and when
        what one of them refers to is still deleted.
        """
        ...

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: int | None) -> list[UUID]:
        """As ``remove``, for good: deleted rows are found too, and what refers to them goes for good as well."""
        ...


class RecordTransaction(Protocol):
    """The room of the database in which the rows of entities are kept."""

    @property
    def records(self) -> Records: ...
