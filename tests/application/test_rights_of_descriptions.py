"""What descriptions say that a caller may do with an entity."""

from typing import Annotated

import pytest
from msgspec import Struct

from application.entities.descriptions import Descriptions
from domain.entities.declaration import entity, guarded
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
    described = Descriptions(build_registry([Payslip])).all(Rights(held, is_super_admin=False))
    (payslips,) = described.entities
    assert payslips.may.create is creates
    # a file may change rows that are there, whose required values it need not have
    assert payslips.may.import_
