"""Rows that a file spells so that their cells cannot be read."""

from collections.abc import Sequence
from typing import Self

from msgspec import Struct

from domain.entities.sheets import sentence
from domain.errors import FieldError


class BadRow(Struct, frozen=True):
    """Errors of a row that stand before any validation; ``details`` is empty where no field is known."""

    message: str
    details: tuple[FieldError, ...] = ()

    @classmethod
    def on(cls, fields: Sequence[FieldError]) -> Self:
        return cls(sentence(fields), tuple(fields))
