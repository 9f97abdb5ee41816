"""What descriptions say that a caller may do with an entity."""

from typing import Annotated

import pytest
from msgspec import Struct

from application.entities.descriptions import Descriptions
from domain.entities.markers import entity, guarded
from domain.entities.registry import build_registry
from domain.scope import Rights

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
def test_rows_are_made_by_those_who_may_write_all_that_is_required(held: tuple[str, ...], creates: bool) -> None:
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
