"""Slots for exports and imports: no tenant and no user takes all of them."""

from contextlib import ExitStack

import pytest

from application.entities.transfers.transfer_slots import AT_ONCE, OF_A_USER, TransferSlots
from domain.errors import RateLimited
from domain.scope import Caller
from tests.builders import caller, new_id


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
