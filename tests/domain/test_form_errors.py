"""Errors of texts in bodies: the message shows the right form."""

from datetime import date
from decimal import Decimal
from uuid import UUID

import pytest
from msgspec import Struct

from domain.errors import ValidationError
from domain.forms import read_form


class Filled(Struct, kw_only=True):
    day: date | None = None
    id: UUID | None = None
    ids: list[UUID] = []
    amount: Decimal | None = None


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("day", "22.11.2026", "must be a date such as 2026-11-20"),
        ("day", "2025-02-29", "must be a date such as 2026-11-20"),
        ("day", "2026-11-22T00:00:00Z", "must be a date such as 2026-11-20"),
        ("id", "7", "must be an id (UUID) such as 0198c0de-0000-7000-8000-000000000000"),
        ("ids", ["7"], "must be an id (UUID) such as 0198c0de-0000-7000-8000-000000000000"),
        ("amount", "1,1", "must be a number in plain digits"),
        ("amount", "twelve", "must be a number in plain digits"),
    ],
)
def test_the_error_of_a_text_that_has_another_form_shows_an_example(field: str, value: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read_form(Filled, {field: value})
    (error,) = caught.value.fields
    assert error.field.removesuffix("[0]") == field
    assert error.message == message


def test_texts_of_the_right_form_are_read() -> None:
    body: dict[str, object] = {"day": "2024-02-29", "id": str(UUID(int=7)), "amount": "1.1"}
    assert read_form(Filled, body) == Filled(day=date(2024, 2, 29), id=UUID(int=7), amount=Decimal("1.1"))
