"""Access to other rows for an entity's own rule: ``check_stored`` is given ``OtherRows``."""

from enum import Enum
from typing import Protocol, TypeVar
from uuid import UUID

from msgspec import Struct

from domain.entities.query.query import Condition, Operator, Path

E = TypeVar("E", bound=Struct)


class OtherRows(Protocol):
    """Rows of the tenant that is written to, without deleted ones, as the write leaves them.

    They are read in the transaction of the write, so a rule that refuses undoes it. ``kind`` is a declared struct.
    """

    async def get(self, kind: type[E], row_id: UUID) -> E | None:
        """The row with this id, locked until the transaction ends: a second write that asks for it waits.

        For a row that all tenants share only writes of the same tenant wait, and changes of the row itself.
        """
        ...

    async def all(self, kind: type[E], *conditions: Condition) -> list[E]:
        """At most 1,000 rows for which all conditions hold, in the order of their ids."""
        ...

    async def count(self, kind: type[Struct], *conditions: Condition) -> int:
        """Number of rows for which all conditions hold."""
        ...


def where(name: str, operator: Operator, value: object) -> Condition:
    """A condition for ``OtherRows``; ``name`` is a field's Python name: ``where("status", Operator.EQ, "live")``."""
    return Condition(Path((), name), operator, value.value if isinstance(value, Enum) else value)
