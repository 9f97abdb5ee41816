"""A reader of the feed with filters, hidden fields and limits, from the moment of its creation."""

from typing import Any
from uuid import UUID

from adapters.memory.wakes import MemoryWakes
from application.entities.changes.arrivals import Arrivals
from application.entities.changes.following import FeedPage, Following
from domain.entities.changes.asking import Asked, read_entity_feed
from domain.entities.changes.cursors import read_feed_cursor
from domain.entities.changes.seeing import Interest
from domain.scope import Caller, OneTenant, OwnRows
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import FEEDS, REGISTRY

CARDS = REGISTRY["cards"]
Event = tuple[str, UUID]


async def still_admitted(_: Caller) -> None: ...


class Reader:
    """Follows the feed from the moment of its creation; with ``own`` only own cards and tickets."""

    def __init__(  # what a request decides
        self,
        desk: Desk,
        *,
        own: UUID | None = None,
        hidden: frozenset[str] = frozenset(),
        with_deleted: bool = False,
        **filters: str,
    ):
        self.desk = desk
        self.cursor: str | None = None
        sees = frozenset({"cards", "tickets"})
        self.scope: OneTenant = desk.tenant
        if own is not None:
            self.scope = OwnRows(desk.tenant.id, user_id=own, sees=sees, touches=frozenset())
        _, query = read_entity_feed(CARDS, REGISTRY, frozenset(), list(filters.items()))
        self.interests = {
            plural: Interest(
                model=REGISTRY[plural],
                hidden=hidden,
                where=query if plural == "cards" else (),
                own_of=own if plural in sees else None,
                with_deleted=with_deleted,
            )
            for plural in (FEEDS if not filters else ("cards",))
        }

    async def page(self, limit: int = 100) -> FeedPage:
        after = None if self.cursor is None else read_feed_cursor(self.cursor)
        await self.desk.sequence()
        following = Following(self.desk.database, REGISTRY, still_admitted, Arrivals(MemoryWakes()))
        page = await following.page(self.desk.write.caller, self.scope, self.interests, Asked(after=after, limit=limit))
        self.cursor = page.cursor
        return page

    async def seen(self) -> list[Event]:
        return [(event.seen.action, event.entry.row_id) for event in (await self.page()).events]


async def reader(desk: Desk, **given: Any) -> Reader:
    made = Reader(desk, **given)
    assert await made.seen() == []
    return made
