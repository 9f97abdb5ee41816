"""Filters on deletion, versions and times."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from msgspec.structs import replace

from domain.entities.query.read_query import read_query
from domain.scope import OneTenant, OwnRows
from tests.builders import NOW, new_id
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import REGISTRY
from tests.contracts.entities.changes.readers import Reader, reader

CARDS = REGISTRY["cards"]
LATER = (NOW + timedelta(minutes=5, seconds=30)).isoformat().replace("+00:00", "Z")
FIRST, SECOND = new_id(), new_id()
FILTERS: dict[str, tuple[str, str]] = {
    "no deletion named": ("title.contains", "a"),
    "live rows": ("isDeleted", "false"),
    "not deleted": ("isDeleted.ne", "true"),
    "without a time of deletion": ("deletedAt.isNull", "true"),
    "without an actor of the deletion": ("deletedBy.isNull", "true"),
    "deleted rows": ("isDeleted", "true"),
    "with a time of deletion": ("deletedAt.isNull", "false"),
    "deleted early": ("deletedAt.lt", LATER),
    "deleted by the second user": ("deletedBy", str(SECOND)),
    "first versions": ("version.lte", "2"),
    "later versions": ("version.gt", "2"),
    "changed early": ("updatedBefore", LATER),
    "changed late": ("updatedAfter", LATER),
    "changed by the first user": ("updatedBy", str(FIRST)),
    "changed by the second user": ("updatedBy", str(SECOND)),
    "without a board": ("boardId.isNull", "true"),
}


class Copy:
    """Rows that a client stores by the events of one filter."""

    def __init__(self, follower: Reader, query: dict[str, str], *, with_deleted: bool) -> None:
        self.follower, self.rows = follower, dict[UUID, Any]()
        read = read_query(CARDS, REGISTRY, frozenset(), [*query.items(), ("pageSize", "100")])
        self.query = replace(read, view=replace(read.view, include_deleted=with_deleted))

    async def follow(self) -> None:
        for event in (await self.follower.page()).events:
            row_id, seen = event.entry.row_id, event.seen
            if seen.action in ("left", "deleted"):
                del self.rows[row_id]
            elif seen.action == "purged":
                self.rows.pop(row_id, None)
            else:
                assert (seen.action == "changed") is (row_id in self.rows), seen.action
                assert seen.data is not None
                self.rows[row_id] = msgspec.json.decode(seen.data)

    async def listed(self) -> dict[UUID, Any]:
        page = await self.follower.desk.crud.page(self.follower.scope, CARDS, self.query)
        return {UUID(row["id"]): row for row in msgspec.json.decode(page.items)}


async def writes(desk: Desk) -> list[Callable[[], Awaitable[Any]]]:
    """Writes of all kinds, of which some depend on the former ones."""
    board = await desk.add("boards")
    first, second, third = [await desk.add("cards", title=title) for title in ("a", "ab", "c")]
    along = await desk.add("cards", title="a", board_id=board)
    return [
        lambda: desk.change("cards", first, title="b"),
        lambda: desk.change("cards", first, title="a"),
        lambda: desk.remove("cards", first),
        lambda: desk.restore("cards", first),
        lambda: desk.remove("cards", third),
        lambda: desk.remove("boards", board),
        lambda: desk.restore("boards", board),
        lambda: desk.change("cards", along, price="2.00"),
        lambda: desk.purge("cards", second),
        lambda: desk.remove("cards", first),
        lambda: desk.purge("cards", first),
        lambda: desk.purge("boards", board),
        lambda: desk.restore("cards", third),
        lambda: desk.add("cards", title="a"),
    ]


@pytest.mark.promise("GET /api/{entities}/changes: a copy that follows filters equals the list, also of deleted rows")
@pytest.mark.parametrize("with_deleted", [False, True])
async def test_a_copy_that_follows_a_filter_equals_the_list(desk: Desk, with_deleted: bool) -> None:
    desk.user = FIRST
    copies = dict[str, Copy]()
    for name, (key, text) in FILTERS.items():
        shows = with_deleted and "delete" in key.lower()
        follower = await reader(desk, with_deleted=shows, **{key: text})
        copies[name] = Copy(follower, {key: text}, with_deleted=shows)
    for number, write in enumerate(await writes(desk)):
        desk.clock.move(timedelta(minutes=1))
        desk.user = (FIRST, SECOND)[number % 2]
        await write()
        for name, copy in copies.items():
            await copy.follow()
            assert copy.rows == await copy.listed(), (name, number)


@pytest.mark.parametrize(
    ("name", "text", "with_deleted", "actions"),
    [
        ("isDeleted", "false", False, ["created", "left", "entered", "left"]),
        ("deletedAt.isNull", "true", False, ["created", "left", "entered", "left"]),
        ("title", "t", False, ["created", "deleted", "restored", "deleted", "purged"]),
        ("isDeleted", "true", True, ["entered", "left", "entered", "purged"]),
        # Without the permission for deleted rows, only the end of the row is visible.
        ("isDeleted", "true", False, ["purged"]),
    ],
)
async def test_a_deletion_and_a_restoration_change_what_a_filter_finds(
    desk: Desk, name: str, text: str, with_deleted: bool, actions: list[str]
) -> None:
    follower = await reader(desk, with_deleted=with_deleted, **{name: text})
    card = await desk.add("cards", title="t")
    for write in (desk.remove, desk.restore, desk.remove, desk.purge):
        await write("cards", card)
    assert [action for action, _ in await follower.seen()] == actions


async def test_a_change_of_a_deleted_row_is_not_shown_to_readers_of_live_rows(desk: Desk) -> None:
    everything, of_deleted = await reader(desk), await reader(desk, with_deleted=True, isDeleted="true")
    colour = await desk.add("colours")
    card = await desk.add("cards", colour_id=colour)
    await desk.remove("cards", card)
    await desk.purge("colours", colour)
    assert ("changed", card) not in await everything.seen()
    assert await of_deleted.seen() == [("entered", card), ("changed", card)]


async def test_the_names_of_changed_fields_are_those_of_the_declaration(desk: Desk) -> None:
    everything = await reader(desk)
    card = await desk.add("cards", title="t")
    desk.clock.move(timedelta(minutes=1))
    desk.user = new_id()
    await desk.change("cards", card, title="u")
    _, changed = (await everything.page()).events
    assert changed.seen.changed == ("title",)


async def test_the_deletion_of_a_large_own_row_is_seen_by_its_owner_only(desk: Desk) -> None:
    ann = new_id()
    card = await desk.add("cards", title="x" * 70_000, owner_id=ann)
    of_ann, of_bob = await reader(desk, own=ann), await reader(desk, own=new_id())
    await desk.remove("cards", card)
    assert (await of_ann.seen(), await of_bob.seen()) == ([("deleted", card)], [])


async def test_filters_on_deletion_show_own_rows_only(desk: Desk) -> None:
    ann = new_id()
    of_ann = await reader(desk, own=ann, with_deleted=True, isDeleted="true")
    assert isinstance(of_ann.scope, OwnRows)
    own, other = await desk.add("cards", owner_id=ann), await desk.add("cards", owner_id=new_id())
    for card in (own, other):
        await desk.remove("cards", card)
        await desk.restore("cards", card)
    assert await of_ann.seen() == [("entered", own), ("left", own)]
    elsewhere = Desk(desk.database, tenant=OneTenant(new_id()))
    assert await (await reader(elsewhere, with_deleted=True, isDeleted="true")).seen() == []
