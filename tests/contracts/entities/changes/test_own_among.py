"""The port that evaluates own rows of the feed: by memberships, by shares and by the stored row."""

from uuid import UUID

from application.ports.entities.records import Act
from domain.entities.markers import Through
from domain.scope import EveryTenant, OneTenant, OwnRows
from tests.builders import NOW, new_id, tenant, user
from tests.contracts.entities.changes.conftest import Desk
from tests.contracts.entities.changes.followed_entities import REGISTRY

CARDS = REGISTRY["cards"]
(BY_BOARD,) = (rule for rule in CARDS.declaration.own if isinstance(rule, Through))


def limited(desk: Desk, user_id: UUID, tenant_id: UUID | None = None) -> OwnRows:
    return OwnRows(tenant_id or desk.tenant.id, user_id=user_id, sees=frozenset({"cards"}), touches=frozenset())


async def test_the_port_finds_own_rows_of_the_caller_in_their_tenant_only(desk: Desk) -> None:
    made, ann = tenant(), user()
    desk.tenant = OneTenant(made.id)
    async with desk.database.transaction(EveryTenant()) as tx:
        await tx.tenants.add(made)
        await tx.users.add(ann)
        await tx.memberships.save(ann.id, made.id, [], None, NOW)
    board, other = await desk.add("boards"), await desk.add("boards")
    await desk.add("helpers", board_id=board, user_id=ann.id)
    cards = [
        await desk.add("cards", owner_id=ann.id),
        await desk.add("cards", board_id=board),
        await desk.add("cards"),
        await desk.add("cards"),
    ]
    async with desk.database.transaction(desk.tenant) as tx:
        await tx.shares.put(CARDS, cards[2], ann.id, "read", Act(desk.user, NOW))
    async with desk.database.read_only(limited(desk, ann.id)) as read:
        assert set(await read.changes.own_through(CARDS, BY_BOARD, [board, other])) == {board}
        assert set(await read.changes.shared_among(CARDS, cards)) == {cards[2]}
        assert set(await read.changes.own_among(CARDS, cards)) == set(cards[:3])
    for scope in (limited(desk, new_id()), limited(desk, ann.id, new_id())):
        async with desk.database.read_only(scope) as read:
            assert not set(await read.changes.own_through(CARDS, BY_BOARD, [board, other]))
            assert not set(await read.changes.shared_among(CARDS, cards))
            assert not set(await read.changes.own_among(CARDS, cards))
