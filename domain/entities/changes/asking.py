"""Parameters of the feed: a cursor, the entities, filters, the size of a page and the time to wait."""

from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from domain.entities.changes.cursors import FeedCursor, read_feed_cursor
from domain.entities.changes.feeds import IDENTITY_ENTITIES
from domain.entities.declaration import EntityModel, Hidden, Registry
from domain.entities.query.query import Condition, Parameters
from domain.entities.query.read_query import EntityParameters
from domain.entities.query.values import NotAValue
from domain.entities.query.vocabulary import Vocabulary
from domain.errors import FieldError, ValidationError, unknown_name

MOST_ITEMS, USUAL_ITEMS, LONGEST_WAIT = 1_000, 100, 25
PAGING = ("after", "limit", "wait")
RESUMING = ("after",)
"""Parameters of a stream, which has no pages."""


class Asked(Struct, frozen=True, kw_only=True):
    """A page of the feed; ``wait`` are the most seconds to wait for the first item."""

    after: FeedCursor | None = None
    limit: int = USUAL_ITEMS
    wait: int = 0


def read_entity_feed(
    model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters, paging: Sequence[str] = PAGING
) -> tuple[Asked, tuple[Condition, ...]]:
    """Read the parameters of one entity's feed. Raises ValidationError, and BadRequest for an invalid cursor."""
    reader = _FeedReader(Vocabulary(registry, model, hidden), parameters, tuple(paging))
    where, limit, wait = reader.own_conditions(), reader.limit(), reader.wait()
    reader.ensure_right()
    return Asked(after=reader.after(), limit=limit, wait=wait), where


def read_feed(
    registry: Registry, parameters: Parameters, paging: Sequence[str] = PAGING
) -> tuple[Asked, tuple[str, ...] | None]:
    """Read the parameters of the feed of all entities; also the plurals that ``entities`` names, None without it.

    Raises ValidationError, and BadRequest for an invalid cursor.
    """
    given: dict[str, str] = {}
    wrong: list[FieldError] = []
    known = (*paging, "entities")
    for name, text in parameters:
        if name not in known:
            wrong.append(FieldError(name, unknown_name(name, known)))
        elif name in given:
            wrong.append(FieldError(name, "is given twice; several values go into one, between commas"))
        given[name] = text
    numbers = {"limit": (1, MOST_ITEMS, USUAL_ITEMS), "wait": (0, LONGEST_WAIT, 0)}
    read = {}
    for name, (least, most, usual) in numbers.items():
        try:
            read[name] = _number_in(given[name], least, most) if name in given else usual
        except NotAValue as mistake:
            wrong.append(FieldError(name, str(mistake)))
    named = tuple(dict.fromkeys(given["entities"].split(","))) if "entities" in given else None
    feeds = [model.plural for model in registry if model.declaration.changes]
    feeds += IDENTITY_ENTITIES if feeds else ()
    if unknown := [name for name in named or () if name not in feeds]:
        listed = ", ".join(feeds) or "no entity"
        # Name the first only: a client can send thousands of unknown names.
        wrong += [FieldError("entities", f"{name!r} has no feed; these have one: {listed}") for name in unknown[:1]]
    if wrong:
        raise ValidationError(fields=wrong)
    after = read_feed_cursor(given["after"]) if "after" in given else None
    return Asked(after=after, **read), named


class _FeedReader(EntityParameters):
    def own_conditions(self) -> tuple[Condition, ...]:
        where = self.where()
        for condition in where:
            if condition.path.steps:
                name = ".".join((*condition.path.steps, condition.path.field))
                self._wrong(name, "is not a filter of the feed: it filters by properties of the row itself")
        return where

    def limit(self) -> int:
        return self._read("limit", partial(_number_in, least=1, most=MOST_ITEMS), USUAL_ITEMS)

    def wait(self) -> int:
        return self._read("wait", partial(_number_in, least=0, most=LONGEST_WAIT), 0)

    def after(self) -> FeedCursor | None:
        given = self.given.get("after")
        return None if given is None else read_feed_cursor(given.text)


def _number_in(text: str, least: int, most: int) -> int:
    if text.isascii() and text.isdecimal() and len(text) <= 4 and least <= int(text) <= most:
        return int(text)
    raise NotAValue(f"must be a whole number from {least} to {most}")
