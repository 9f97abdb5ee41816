"""Access to other rows for an entity's rule: the argument ``OtherRows`` of ``check_stored``."""

from enum import Enum
from typing import Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from domain.entities.query.query import Condition, Operator, Path

E = TypeVar("E", bound=Struct)


class OtherRows(Protocol):
    """Live rows of the tenant, in their state after the write.

    The write's transaction reads these rows, so a failed rule rolls the write back. ``kind`` is a declared struct.
    """

    async def get(self, kind: type[E], row_id: UUID) -> E | None:
        """Return the row with this id, locked until the transaction ends: concurrent writes that request it wait.

        A shared row blocks only writes of the same tenant, and changes of the row itself.
        """
        ...

    async def all(self, kind: type[E], *conditions: Condition) -> list[E]:
        """Return at most 1,000 rows that fulfil all conditions, in id order."""
        ...

    async def count(self, kind: type[Struct], *conditions: Condition) -> int:
        """Count the rows that fulfil all conditions."""
        ...


def where(name: str, operator: Operator, value: object) -> Condition:
    """Return a condition for ``OtherRows``; ``name`` is a Python name: ``where("status", Operator.EQ, "live")``."""
    return Condition(Path((), name), operator, value.value if isinstance(value, Enum) else value)
