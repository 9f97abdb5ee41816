"""Rows of entities within the transaction's scope."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Raw, Struct

from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query, View

Values = Mapping[str, object]
"""Declared fields by Python name, with values as in the entity's struct."""


class Stored(Struct, frozen=True):
    """A row of a response; ``body`` is its JSON object, with fields in the order of ``EntityModel.fields``."""

    id: UUID
    version: int
    body: Raw


class Restored(Stored, frozen=True):
    """A restored row, and by entity the ids of all rows restored with it, including other tenants' rows."""

    along: tuple[tuple[str, tuple[UUID, ...]], ...] = ()


class Current(Struct, frozen=True):
    """A live row for rules: its version and all declared fields."""

    version: int
    values: Values


class NewRow(Struct, frozen=True):
    """A row to add; every declared field has a value."""

    id: UUID
    values: Values


class Change(Struct, frozen=True):
    """Changed values of a row; ``version`` is the one that the caller saw, None for any."""

    id: UUID
    values: Values
    version: int | None = None


Versions = int | frozenset[int] | None
"""The version that the caller saw, a set of acceptable versions, or None for any."""


def is_wanted(wanted: Versions, stored: int) -> bool:
    return wanted is None or (stored in wanted if isinstance(wanted, frozenset) else stored == wanted)


class RowPage(Struct, frozen=True):
    """A page of rows.

    ``items`` is a JSON array of ``length`` rows; ``total`` is None if the caller did not request it. ``last`` has the
    sort values of the last row for the next page's cursor, None on the last page.
    """

    items: Raw
    length: int
    total: int | None
    has_next: bool
    total_is_estimate: bool = False
    last: tuple[object, ...] | None = None


class Act(Struct, frozen=True):
    """The writing user and the time, for the audit columns."""

    by: UUID | None
    at: datetime


class Records(Protocol):
    """Rows of entities within the transaction's scope: no method sees rows of other tenants.

    For a scope with limits to own rows, other rows do not exist. A write to a visible row that is not own raises
    Forbidden, and so does a write after which the row would not be own, on the deciding field.

    JSON is camelCase, decimals are numbers with their scale, times are UTC with ``Z``. Under EveryTenant each row has a
    ``tenantId``, and a write to a tenant-owned entity raises BadRequest.
    """

    async def get(self, model: EntityModel, row_id: UUID, view: View) -> Stored | None: ...

    async def page(self, model: EntityModel, query: Query) -> RowPage: ...

    async def current(
        self,
        model: EntityModel,
        ids: Sequence[UUID],
        *,
        locked: bool = True,
        shares: bool = False,
        is_bounded: bool = False,
    ) -> dict[UUID, Current]:
        """Return the live rows among ``ids`` that the scope may change, with ``locked`` locked in one order.

        With ``shares``, locks shared rows only against changes, and waits only for this tenant's transactions with the
        same lock. If ``is_bounded``, raises ValidationError if several rows exceed ``LARGEST_PAGE_BYTES`` together.
        """
        ...

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        """Add all rows or none; return them in the given order.

        Raises Conflict, with the field of a duplicate unique value, and ValidationError for a reference without a live
        row of this tenant. For several rows, errors name fields as in ``items[3].sku``.
        """
        ...

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        """Change only the given values of all rows or none; the version of each row rises by one.

        Raises NotFound (for several rows on ``items[2].id``), PreconditionFailed if a row has another version (for
        several rows on ``items[2].version``), ValidationError if several changed rows exceed ``LARGEST_PAGE_BYTES``
        together, and the errors of ``add``. Rows may exchange unique values: only their final values are compared.
        New links replace those that the scope sees; to replace links, lock the rows by ``current`` before.
        """
        ...

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        """Soft-delete rows, or delete them if the entity has no soft delete; return the ids of the found rows.

        References follow ``on_delete``: restrict raises StillReferredTo, cascade deletes the referencing row, clear
        sets the reference to null. Links with ``drop`` remain until their target is deleted permanently. Raises
        PreconditionFailed if the stored version is not ``version``, and NotOwn for visible rows that are not own.
        """
        ...

    async def restore(self, model: EntityModel, row_id: UUID, act: Act, version: Versions = None) -> Restored:
        """Restore a deleted row and the rows that its deletion cascaded to; cleared references stay null.

        Raises NotFound, PreconditionFailed if the deleted row has another version than ``version``, and Conflict if the
        row is not deleted, if another row has its unique value by now, or if a referenced row is still deleted.
        """
        ...

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        """Delete rows permanently, with the rows that reference them, even if soft-deleted."""
        ...


class RecordTransaction(Protocol):
    """Transaction for rows of entities."""

    @property
    def records(self) -> Records: ...

    @property
    def whole_records(self) -> Records:
        """The records without limits to own rows. Only rules may use them, and checks of what a deletion changes."""
        ...
