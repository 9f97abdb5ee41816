"""What happened to rows of entities that keep a history: it is written by ``records`` with each change."""

from datetime import datetime
from typing import Literal, Protocol
from uuid import UUID

from msgspec import Raw, Struct

from application.ports.entities.records import Records
from domain.entities.declaration import EntityModel

Action = Literal["created", "changed", "deleted", "restored", "purged"]


class FieldChange(Struct, frozen=True, rename={"was": "from"}):
    """The values are as answers show them."""

    field: str
    was: Raw
    to: Raw


class Entry(Struct, frozen=True):
    """``version`` is the row's after it, so a row has one entry for each."""

    version: int
    action: Action
    at: datetime
    by: UUID | None
    changes: tuple[FieldChange, ...] = ()


class History(Protocol):
    async def page(self, model: EntityModel, row_id: UUID, offset: int, size: int) -> tuple[list[Entry], int]:
        """The newest first, and how many there are; of the rows of the transaction's scope alone."""
        ...


class HistoryTransaction(Protocol):
    """The rooms of the database that a history is read from."""

    @property
    def records(self) -> Records: ...
    @property
    def history(self) -> History: ...
