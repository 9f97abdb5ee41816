"""Entities for features that the catalogue lacks: guards, history, rules on other rows, every ``on_delete``."""

from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

from domain.entities.markers import entity, guarded, money, ref, unique
from domain.entities.query.query import Operator
from domain.entities.rules import OtherRows, where
from domain.errors import FieldError

Label = Annotated[str, Meta(min_length=1, max_length=100)]


@entity("genres", unique=[unique("name")], tenant_owned=False, history=True)
class Genre(Struct, rename="camel", kw_only=True):
    name: Label


@entity("shelves", unique=[unique("name")])
class Shelf(Struct, rename="camel", kw_only=True):
    name: Label
    inside_id: Annotated[UUID | None, ref("shelves", on_delete="cascade")] = None


class Condition(Enum):
    NEW = "new"
    WORN = "worn"


@entity("volumes", unique=[unique("code")], history=True)
class Volume(Struct, rename="camel", kw_only=True):
    title: Label
    code: Annotated[str | None, guarded(read="read:codes")] = None
    cost: Annotated[Decimal, money(8, 2), guarded(write="write:costs")] = Decimal("0.00")
    condition: Condition = Condition.NEW
    bought_at: datetime | None = None
    shelf_id: Annotated[UUID | None, ref("shelves", on_delete="cascade")] = None
    genre_id: Annotated[UUID | None, ref("genres", on_delete="clear")] = None

    def check(self, before: "Volume | None") -> Iterator[FieldError]:
        if before is not None and before.condition is Condition.WORN and self.condition is Condition.NEW:
            yield FieldError("condition", "what is worn does not become new")
        if self.code == "bound" and self.genre_id is None:
            yield FieldError("genreId", "what is bound keeps its genre")
        if self.code == "refused":
            yield FieldError("code", "is refused")


@entity("loans", soft_delete=False)
class Loan(Struct, rename="camel", kw_only=True):
    volume_id: Annotated[UUID, ref("volumes", on_delete="cascade", permanent=True)]
    borrower: Label

    async def check_stored(self, before: "Loan | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        volume = await rows.get(Volume, self.volume_id)
        if volume is not None and volume.condition is Condition.WORN:
            yield FieldError("volumeId", "what is worn is not lent")
        if await rows.count(Loan, where("volume_id", Operator.EQ, self.volume_id)) > 2:
            yield FieldError("volumeId", "is lent twice already")


@entity("picks", soft_delete=False)
class Pick(Struct, rename="camel", kw_only=True):
    """Rows of a tenant whose rule asks for a row that all tenants share."""

    genre_id: Annotated[UUID, ref("genres", on_delete="restrict")]
    after_id: Annotated[UUID | None, ref("genres", on_delete="restrict")] = None

    async def check_stored(self, _before: "Pick | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        await rows.get(Genre, self.genre_id)
        if await rows.count(Pick, where("genre_id", Operator.EQ, self.genre_id)) > 2:
            yield FieldError("genreId", "is picked twice already")


@entity("marks", unique=[unique("text")])
class Mark(Struct, rename="camel", kw_only=True):
    text: Label
    volume_id: Annotated[UUID | None, ref("volumes", on_delete="cascade")] = None
    other_id: Annotated[UUID | None, ref("volumes", on_delete="restrict")] = None


@entity("visits")
class Visit(Struct, rename="camel", kw_only=True):
    volume_id: Annotated[UUID, ref("volumes", on_delete="cascade")]
    day: date
    note: str | None = None
    after_id: Annotated[UUID | None, ref("visits", on_delete="clear")] = None

    async def check_stored(self, before: "Visit | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        same = where("volume_id", Operator.EQ, self.volume_id), where("day", Operator.EQ, self.day)
        if await rows.count(Visit, *same) > 1:
            yield FieldError("day", "is taken" if before is None else "is taken meanwhile")


@entity("seats", unique=[unique("code")], history=True)
class Seat(Struct, rename="camel", kw_only=True):
    """Rows with a unique value, a history and a rule on other rows."""

    code: Label
    shelf_id: Annotated[UUID, ref("shelves", on_delete="cascade")]

    async def check_stored(self, before: "Seat | None", rows: OtherRows) -> AsyncIterator[FieldError]:
        if await rows.count(Seat, where("shelf_id", Operator.EQ, self.shelf_id)) > 2:
            yield FieldError("shelfId", "is full" if before is None else "is full meanwhile")


LIBRARY = (Genre, Shelf, Volume, Loan, Pick, Mark, Visit, Seat)
