"""Statements and schema agree on what a field's column is called and what it holds."""

import pytest
from sqlalchemy.dialects.postgresql import dialect

from adapters.postgres.schema.schema import column_type
from adapters.postgres.schema.sql import sql_type
from domain.entities.declaration import FieldModel, Kind, Money


@pytest.mark.parametrize("kind", Kind)
def test_a_cast_names_the_type_that_the_schema_gives_the_column(kind: Kind) -> None:
    money = Money(precision=14, scale=4) if kind is Kind.DECIMAL else None
    one = FieldModel(name="field", wire="field", kind=kind, type=object, money=money)
    made = str(column_type(one).compile(dialect=dialect()))  # type: ignore[no-untyped-call]
    assert sql_type(one) == made.removesuffix(' COLLATE "C"')
