"""Copies of fields: generated columns for conditions, orders and unique indexes that the field cannot serve.

Under row-level security, an index answers only leakproof comparisons: those of whole numbers and equality of text, but
not those of ``numeric`` and ``lower()``. So a price of ``money(12, 2)`` in an ``index(…)`` has a scaled copy
``price$e2``, the price times 100. A name with case-insensitive uniqueness has a lowered copy ``name$lower``.
"""

from typing import Any
from zlib import crc32

from sqlalchemy import BigInteger, Column, Computed, Text, literal_column

from adapters.postgres.schema.sql import CODE_POINTS, quoted, without_case
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.kinds import Kind
from domain.entities.query.kinds import ignores_case

MOST_DIGITS = 18
"""Maximum digits of a decimal that always fits a ``bigint``."""

COPY_OF = "copy of"
"""Key in the ``info`` of a copy's column for the field's name."""

# no field name contains this character
_MARK = "$"
_LONGEST_NAME = 63


def is_scaled(model: EntityModel, field: FieldModel) -> bool:
    """Return whether the field has a scaled copy: a decimal of at most 18 digits in a declared index."""
    if field.kind is not Kind.DECIMAL or field.money is None or field.money.precision > MOST_DIGITS:
        return False
    return any(field.name in index.fields for index in model.declaration.indexes)


def is_lowered(model: EntityModel, field: FieldModel) -> bool:
    """Returns whether the field has a lowered copy: text with a single-field unique that ignores case."""
    return ignores_case(model, field)


def scaled_name(field: FieldModel) -> str:
    """Return the scaled copy's name, at most 63 bytes: ``price$e2``."""
    return _name(field, f"e{field.money.scale if field.money is not None else 0}")


def lowered_name(field: FieldModel) -> str:
    """Return the lowered copy's name, at most 63 bytes: ``name$lower``."""
    return _name(field, "lower")


def is_name_of_copy(column: str) -> bool:
    return _MARK in column


def ordered_name(model: EntityModel, field: FieldModel) -> str:
    """Return the column for the field's ranges, orders and declared indexes."""
    return scaled_name(field) if is_scaled(model, field) else field.name


def equal_name(model: EntityModel, field: FieldModel) -> str:
    """Return the column to find rows by a value of the field."""
    return lowered_name(field) if is_lowered(model, field) else ordered_name(model, field)


def copy_columns(model: EntityModel) -> list[Column[Any]]:
    scaled = [_scaled(field) for field in model.fields if is_scaled(model, field)]
    return [*scaled, *(_lowered(field) for field in model.fields if is_lowered(model, field))]


def original(key: Any) -> Any:
    """Return the expression that a copy is generated from; return any other index key unchanged."""
    if not isinstance(key, Column) or key.computed is None:
        return key
    return literal_column(str(key.computed.sqltext))


def _name(field: FieldModel, kind: str) -> str:
    end, name = f"{_MARK}{kind}", field.name.encode()
    if len(name) + len(end) <= _LONGEST_NAME:
        return f"{field.name}{end}"
    cut = name[: _LONGEST_NAME - len(end) - 9].decode(errors="ignore")
    return f"{cut}{_MARK}{crc32(name):08x}{end}"


# Spell expressions like PostgreSQL, because Alembic compares the text.


def _scaled(field: FieldModel) -> Column[int]:
    assert field.money is not None, field.name
    # Exact: the product has no fractional digits.
    value = f"({quoted(field.name)} * {10**field.money.scale}::numeric)::bigint"
    return Column(scaled_name(field), BigInteger(), Computed(value, persisted=True), info={COPY_OF: field.name})


def _lowered(field: FieldModel) -> Column[str]:
    value = Computed(without_case(quoted(field.name)), persisted=True)
    return Column(lowered_name(field), Text(collation=CODE_POINTS), value, info={COPY_OF: field.name})
