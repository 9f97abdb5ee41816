"""Entities with a feed: of one tenant and of all, with links, history, own rows, shares and rules on other rows."""

from collections.abc import AsyncIterator
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from msgspec import Struct

from domain.entities.builtin_entities import BUILTIN_ENTITIES
from domain.entities.catalogue import ENTITIES
from domain.entities.markers import entity, guarded, links, many, mine, money, ref, through, unique
from domain.entities.registry import build_registry
from domain.entities.rules import OtherRows
from domain.errors import FieldError


@entity("colours", tenant_owned=False, changes=True, sort="name")
class Colour(Struct, rename="camel", kw_only=True):
    name: str


@entity("labels", changes=True)
class Label(Struct, rename="camel", kw_only=True):
    name: str


@entity("boards", changes=True, has_many={"helpers": many("helpers", by="board_id")})
class Board(Struct, rename="camel", kw_only=True):
    name: str


@entity("helpers")
class Helper(Struct, rename="camel", kw_only=True):
    """An entity without a feed: its user sees the cards of the board."""

    board_id: Annotated[UUID, ref("boards", on_delete="cascade")]
    user_id: UUID


@entity(
    "cards",
    changes=True,
    unique=[unique("code")],
    own=[mine("owner_id"), through("board", "helpers", "user_id")],
    shared=True,
)
class Card(Struct, rename="camel", kw_only=True):
    title: str
    code: str | None = None
    price: Annotated[Decimal | None, money(8, 2)] = None
    secret: Annotated[str, guarded(read="read:secrets")] = ""
    owner_id: UUID | None = None
    label_ids: Annotated[list[UUID], links("labels")] = []
    board_id: Annotated[UUID | None, ref("boards", on_delete="cascade")] = None
    colour_id: Annotated[UUID | None, ref("colours", on_delete="clear")] = None


@entity("steps", changes=True, history=True, soft_delete=False)
class Step(Struct, rename="camel", kw_only=True):
    text: str
    card_id: Annotated[UUID, ref("cards", on_delete="cascade", permanent=True)]


@entity("tickets", changes=True, own=[mine("owner_id")])
class Ticket(Struct, rename="camel", kw_only=True):
    """Rows with a rule on other rows, and own rows by one field."""

    title: str
    owner_id: UUID | None = None

    async def check_stored(self, _before: "Ticket | None", _rows: OtherRows) -> AsyncIterator[FieldError]:
        if self.title == "refused":
            yield FieldError("title", "is refused")


FOLLOWED = (Colour, Label, Board, Helper, Card, Step, Ticket)
REGISTRY = build_registry([*ENTITIES, *BUILTIN_ENTITIES, *FOLLOWED])
FEEDS = tuple(model.plural for model in REGISTRY if model.declaration.changes)
