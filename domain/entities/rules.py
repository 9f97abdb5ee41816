"""What an entity's own rule may ask of other rows: its ``check_stored`` is handed ``OtherRows``."""

from enum import Enum
from typing import Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from domain.entities.query.query import Condition, Operator, Path

E = TypeVar("E", bound=Struct)


class OtherRows(Protocol):
    """The living rows of the tenant that is written to, as the write leaves them: what it wrote is among them.

    They are read in its transaction, so a rule that refuses undoes the write. ``kind`` is a declared struct.
    """

    async def get(self, kind: type[E], row_id: UUID) -> E | None:
        """Holds the row until the write is done: of two writes that ask for the same one the second waits."""
        ...

    async def all(self, kind: type[E], *conditions: Condition) -> list[E]:
        """The first thousand for which all conditions hold, oldest id first."""
        ...

    async def count(self, kind: type[Struct], *conditions: Condition) -> int: ...


def where(name: str, operator: Operator, value: object) -> Condition:
    """``name`` is the Python name of a field of the rows that are asked for."""
    return Condition(Path((), name), operator, value.value if isinstance(value, Enum) else value)
