"""Rows of entities within the transaction's scope."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol
from uuid import UUID

from msgspec import Raw, Struct

from domain.entities.declaration import EntityModel
from domain.entities.query.query import Query, View

Values = Mapping[str, object]
"""Declared fields by Python name, with values as the entity's struct holds them."""


class Stored(Struct, frozen=True):
    """A row of a response; ``body`` is its JSON object, with fields in the order of ``EntityModel.fields``."""

    id: UUID
    version: int
    body: Raw


class Restored(Stored, frozen=True):
    """A restored row, and by entity the ids of all rows that came back with it, those of other tenants among them."""

    along: tuple[tuple[str, tuple[UUID, ...]], ...] = ()


class Current(Struct, frozen=True):
    """A row that is not deleted, as rules see it: its version and all declared fields."""

    version: int
    values: Values


class NewRow(Struct, frozen=True):
    """A row to add; every declared field has a value."""

    id: UUID
    values: Values


class Change(Struct, frozen=True):
    """Changed values of a row; ``version`` is the version that the caller saw, None for any."""

    id: UUID
    values: Values
    version: int | None = None


Versions = int | frozenset[int] | None
"""Version that the caller saw, versions of which any will do, None for any at all."""


def is_wanted(wanted: Versions, stored: int) -> bool:
    return wanted is None or (stored in wanted if isinstance(wanted, frozenset) else stored == wanted)


class RowPage(Struct, frozen=True):
    """A page of rows.

    ``items`` is a JSON array of ``length`` rows; ``total`` is None when it was not asked for. ``last`` holds the sort
    values of the last row for the next page's cursor, None on the last page.
    """

    items: Raw
    length: int
    total: int | None
    has_next: bool
    total_is_estimate: bool = False
    last: tuple[object, ...] | None = None


class Act(Struct, frozen=True):
    """The user who writes and the time, for the audit columns."""

    by: UUID | None
    at: datetime


class Records(Protocol):
    """Rows of entities within the transaction's scope, for every method: rows of other tenants are absent.

    JSON is camelCase, decimals are numbers with their scale, times are UTC with ``Z``. Under EveryTenant each row has a
    ``tenantId``, and writing rows that tenants own raises BadRequest.
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
        """The rows among ``ids`` that are not deleted; ``locked`` until the transaction ends, in one order.

        With ``shares``, rows that all tenants share are locked against changes, and wait for nobody but transactions of
        this tenant that hold them in the same way. If ``is_bounded``, raises ValidationError where several rows have
        more than ``LARGEST_PAGE_BYTES`` together.
        """
        ...

    async def add(self, model: EntityModel, rows: Sequence[NewRow], act: Act) -> list[Stored]:
        """Adds all rows or none; the result is in the order given.

        Raises Conflict naming the field whose unique value is taken, ValidationError for a field that refers to no
        living row of this tenant; with several rows, fields are named ``items[3].sku``.
        """
        ...

    async def change(self, model: EntityModel, changes: Sequence[Change], act: Act) -> list[Stored]:
        """Changes all rows or none, only the given values; each version rises by one.

        Raises NotFound (of several naming ``items[2].id``), PreconditionFailed for another version (of several naming
        ``items[2].version``), ValidationError where several rows have more than ``LARGEST_PAGE_BYTES`` together as they
        would be, and what ``add`` raises. Rows may pass unique values on to each other: they are compared
        as they will be.
        """
        ...

    async def remove(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        """Marks rows deleted, or deletes them where the entity has no soft delete; returns the ids that were found.

        References to them follow ``on_delete``: restrict raises StillReferredTo, cascade deletes the referring row,
        clear sets null. Raises PreconditionFailed when ``version`` is given and another one is stored.
        """
        ...

    async def restore(self, model: EntityModel, row_id: UUID, act: Act, version: Versions = None) -> Restored:
        """Restores a deleted row and the rows that its deletion cascaded to; cleared references stay null.

        Raises NotFound, PreconditionFailed when the deleted row has another version than ``version``, and Conflict when
        the row is not deleted, when a unique value has been taken meanwhile, or when a row it refers to is still
        deleted.
        """
        ...

    async def purge(self, model: EntityModel, ids: Sequence[UUID], act: Act, version: Versions) -> list[UUID]:
        """Deletes rows for good with the rows that refer to them; rows marked deleted are found too."""
        ...


class RecordTransaction(Protocol):
    """Parts of the database that hold rows of entities."""

    @property
    def records(self) -> Records: ...
