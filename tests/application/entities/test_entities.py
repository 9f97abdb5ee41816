"""When the deletion of a row asks the rules of the rows that refer to it.

What descriptions say that a caller may do with an entity.

Slots for exports and imports: no tenant and no user takes all of them.

Freshness: a write is answered once its reads can know of it.
"""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID, uuid4

import pytest
from msgspec import Struct

from adapters.memory.clock import MovableClock
from adapters.memory.last_writes import MemoryLastWrites
from application.entities.descriptions import Descriptions
from application.entities.transfers.transfer_slots import AT_ONCE, OF_A_USER, TransferSlots
from application.freshness import Freshness
from application.ports.replicas import BEGINNING, NOWHERE_YET, Position, Wanted
from domain.entities.markers import entity, guarded, ref
from domain.entities.registry import build_registry
from domain.errors import RateLimited, ServiceUnavailable
from domain.scope import Caller, Rights
from tests.builders import caller, new_id
from tests.library import LIBRARY, Visit


@entity("boxes")
class Box(Struct, rename="camel", kw_only=True):
    name: str


@entity("sleeves")
class Sleeve(Struct, rename="camel", kw_only=True):
    name: str
    box_id: Annotated[UUID | None, ref("boxes", on_delete="clear")] = None


@entity("posters")
class Poster(Struct, rename="camel", kw_only=True):
    sleeve_id: Annotated[UUID | None, ref("sleeves", on_delete="cascade")] = None


@pytest.mark.promise(
    "declarations, references: clear asks the rule of the row that it changes, at a deletion and at one for good"
)
def test_a_deletion_asks_rules_that_depend_on_a_cleared_reference() -> None:
    # A visit clears references to visits, and has a rule.
    others = [made for made in LIBRARY if made is not Visit]
    registry = build_registry([*others, Box, Sleeve, Poster])
    assert registry.deletion_asks_a_rule(registry["genres"])
    # Volumes go with their shelf, and a cascade leads nowhere else.
    assert not registry.deletion_asks_a_rule(registry["shelves"])
    # A reference is cleared, of an entity without a rule.
    assert not registry.deletion_asks_a_rule(registry["boxes"])
    assert not registry.deletion_asks_a_rule(registry["posters"])


OPEN = ("create:payslips", "read:payslips")


@entity("payslips")
class Payslip(Struct, rename="camel", kw_only=True):
    month: str
    amount: Annotated[str, guarded(read="read:wages", write="update:wages")]
    note: Annotated[str | None, guarded(read="read:notes")] = None


@pytest.mark.parametrize(
    ("held", "creates"),
    [(OPEN, False), ((*OPEN, "read:wages"), False), ((*OPEN, "update:wages"), True), (("*",), True)],
)
def test_creating_is_allowed_only_with_write_access_to_all_required_fields(
    held: tuple[str, ...], creates: bool
) -> None:
    described = Descriptions(build_registry([Payslip]), areas=()).all(Rights(held, is_super_admin=False))
    (payslips,) = described.entities
    assert payslips.may.create is creates
    # a file may change rows that are there, whose required values it need not have
    assert payslips.may.import_


@pytest.mark.parametrize("is_super_admin", [False, True])
@pytest.mark.parametrize(("writable", "tenant_owned"), [(True, True), (True, False), (False, True), (False, False)])
def test_rows_that_are_shared_or_not_writable_are_not_offered_for_change(
    writable: bool, tenant_owned: bool, is_super_admin: bool
) -> None:
    @entity("rates", writable=writable, tenant_owned=tenant_owned, sort="code")
    class Rate(Struct):
        code: str

    described = Descriptions(build_registry([Rate]), areas=()).all(Rights(("*",), is_super_admin=is_super_admin))
    may = described.entities[0].may
    changes = writable and (tenant_owned or is_super_admin)
    assert {may.create, may.update, may.delete, may.purge, may.import_} == {changes}
    assert may.read
    assert may.export


def taken(slots: TransferSlots, *callers: Caller) -> int:
    """Number of the callers that get a slot one after the other, before the first that gets none."""
    with ExitStack() as stack:
        for number, who in enumerate(callers):
            try:
                stack.enter_context(slots.taken(who))
            except RateLimited:
                return number
    return len(callers)


@pytest.mark.promise("files, transfers: a tenant has at most a quarter of the places, a user two in all tenants")
@pytest.mark.parametrize(("total", "of_a_tenant"), [(1, 1), (3, 1), (4, 1), (5, 2), (8, 2), (16, 4), (17, 5)])
def test_a_tenant_has_at_most_a_quarter(total: int, of_a_tenant: int) -> None:
    tenant = new_id()
    assert taken(TransferSlots(total), *(caller(tenant_id=tenant) for _ in range(total + 1))) == of_a_tenant


@pytest.mark.promise("files, transfers: a tenant has at most a quarter of the places, a user two in all tenants")
def test_a_user_has_at_most_two_in_all_tenants() -> None:
    user = new_id()
    assert taken(TransferSlots(40), *(caller(user_id=user, tenant_id=new_id()) for _ in range(4))) == OF_A_USER


def test_all_together_have_so_many() -> None:
    assert taken(TransferSlots(), *(caller(tenant_id=new_id()) for _ in range(AT_ONCE + 1))) == AT_ONCE


@pytest.mark.promise("files, transfers: a tenant has at most a quarter of the places, a user two in all tenants")
def test_two_users_of_a_tenant_leave_slots_for_others() -> None:
    tenant = new_id()
    one_tenant = [caller(tenant_id=tenant) for _ in range(2)]
    others = [caller(tenant_id=new_id()) for _ in range(AT_ONCE - 2)]
    assert taken(TransferSlots(), *one_tenant, *others) == AT_ONCE


@pytest.mark.promise(
    "files, transfers: a place is taken before the upload is read, refused with Retry-After, and free again after a "
    "failure"
)
def test_a_slot_is_free_again_after_a_failure() -> None:
    slots, who = TransferSlots(1), caller(tenant_id=new_id())
    for _ in range(3):
        with pytest.raises(ValueError, match="x"), slots.taken(who):
            raise ValueError("x")
    assert taken(slots, who) == 1


SESSION = uuid4()


@dataclass
class Log:
    """A log that stands at one place; ``awaited`` are the positions that replicas were waited for."""

    at: Position | None
    awaited: list[Position] = field(default_factory=list)

    async def position(self) -> Position:
        if self.at is None:
            raise ServiceUnavailable
        return self.at

    async def replayed(self, position: Position) -> None:
        self.awaited.append(position)


def freshness(at: Position | None) -> tuple[Freshness, MemoryLastWrites, Log]:
    last_writes, log = MemoryLastWrites(MovableClock()), Log(at)
    return Freshness(last_writes, log), last_writes, log


@pytest.mark.parametrize(("at", "told"), [(Position(1, 0x10), Position(1, 0x10)), (None, NOWHERE_YET)], ids=str)
async def test_a_remembered_write_position_is_wanted_by_the_next_read_without_waiting(
    at: Position | None, told: Position
) -> None:
    fresh, _, log = freshness(at)
    assert await fresh.wanted(SESSION) == Wanted(SESSION, BEGINNING)
    assert await fresh.written(SESSION) == told
    assert await fresh.wanted(SESSION) == Wanted(SESSION, told)
    assert log.awaited == []


@pytest.mark.parametrize(("at", "told"), [(Position(1, 0x10), Position(1, 0x10)), (None, NOWHERE_YET)], ids=str)
async def test_a_write_with_no_storable_position_is_answered_when_the_replicas_have_it(
    at: Position | None, told: Position
) -> None:
    fresh, last_writes, log = freshness(at)
    last_writes.down = True
    assert await fresh.written(SESSION) == told
    assert log.awaited == [told]
    assert await fresh.wanted(SESSION) is None
