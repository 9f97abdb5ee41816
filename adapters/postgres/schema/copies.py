"""Scaled copies of indexed decimals: generated columns of whole numbers, which serve conditions and orders.

Row-level security lets an index answer leakproof comparisons alone: those of whole numbers are, those of ``numeric``
are not. A price of ``money(12, 2)`` in an ``index(…)`` therefore has a column ``price$e2`` with the price times 100.
"""

from zlib import crc32

from sqlalchemy import BigInteger, Column, Computed

from adapters.postgres.schema.sql import quoted
from domain.entities.declaration import EntityModel, FieldModel, Kind

MOST_DIGITS = 18
"""Digits of the largest decimals that a ``bigint`` holds whatever they are."""

COPY_OF = "copy of"
"""Key of the field's name in the ``info`` of a copy's column."""

# no field has this character in its name
_MARK = "$"
_LONGEST_NAME = 63


def is_scaled(model: EntityModel, field: FieldModel) -> bool:
    """Whether the field has a scaled copy: a decimal of at most 18 digits that a declared index names."""
    if field.kind is not Kind.DECIMAL or field.money is None or field.money.precision > MOST_DIGITS:
        return False
    return any(field.name in index.fields for index in model.declaration.indexes)


def scaled_name(field: FieldModel) -> str:
    """Name of the copy, at most 63 bytes: ``price$e2``."""
    end = f"{_MARK}e{field.money.scale if field.money is not None else 0}"
    name = field.name.encode()
    if len(name) + len(end) <= _LONGEST_NAME:
        return f"{field.name}{end}"
    cut = name[: _LONGEST_NAME - len(end) - 9].decode(errors="ignore")
    return f"{cut}{_MARK}{crc32(name):08x}{end}"


def is_name_of_copy(column: str) -> bool:
    return _MARK in column


def ordered_name(model: EntityModel, field: FieldModel) -> str:
    """The column that the field's conditions, orders and indexes use."""
    return scaled_name(field) if is_scaled(model, field) else field.name


def copy_columns(model: EntityModel) -> list[Column[int]]:
    return [_scaled(field) for field in model.fields if is_scaled(model, field)]


def _scaled(field: FieldModel) -> Column[int]:
    assert field.money is not None, field.name
    # exact: the product has no digit behind the point. Spelt as PostgreSQL shows it, for Alembic compares the text.
    value = f"({quoted(field.name)} * {10**field.money.scale}::numeric)::bigint"
    return Column(scaled_name(field), BigInteger(), Computed(value, persisted=True), info={COPY_OF: field.name})
