"""History of rows; ``Records`` adds an entry with each change."""

from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from msgspec import Raw, Struct

from application.ports.entities.records import Records
from domain.entities.declaration import EntityModel

Action = Literal["created", "changed", "deleted", "restored", "purged"]


class FieldChange(Struct, frozen=True, rename={"was": "from"}):
    """A changed field, with JSON values as in responses."""

    field: str
    was: Raw
    to: Raw


class Entry(Struct, frozen=True):
    """A change of a row; ``version`` is the row's version after it. Each version has one entry."""

    version: int
    action: Action
    at: datetime
    by: UUID | None
    changes: tuple[FieldChange, ...] = ()


class History(Protocol):
    async def page(self, model: EntityModel, row_id: UUID, offset: int, size: int) -> tuple[list[Entry], int]:
        """Return the page, newest entry first, and the number of entries; only rows within the scope."""
        ...


class HistoryTransaction(Protocol):
    """Database parts for reading a history."""

    @property
    def records(self) -> Records: ...
    @property
    def history(self) -> History: ...
