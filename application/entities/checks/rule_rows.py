"""Rows for the rules of an entity: the row that a rule checks, and the rows that it may ask for."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from msgspec import Struct

from application.ports.entities.records import Records, Values
from domain.entities.declaration import EntityModel, Registry
from domain.entities.exact_values import all_made_of_json
from domain.entities.query.query import Condition, Count, Path, Query, SortKey
from domain.entities.rules import E
from domain.errors import FieldError

MOST_ASKED = 1_000
"""Maximum rows for a rule's ``OtherRows.all``."""
_BY_ID = (SortKey(Path((), "id"), descending=False),)


class RuleInput(Struct, frozen=True):
    """Values of a row for its rule: the new ones, and the previous ones (None at creation)."""

    id: UUID
    values: Values
    before: Values | None


@dataclass(frozen=True)
class TransactionRows:
    """Rows that an entity's rule reads, in the transaction of the write.

    With ``shares``, locks on rows of all tenants do not block other tenants.
    """

    records: Records
    registry: Registry
    shares: bool = True

    async def broken_rules(self, model: EntityModel, rule_input: RuleInput) -> list[FieldError]:
        row: Any = model.made_of(rule_input.values)
        before = None if rule_input.before is None else model.made_of(rule_input.before)
        return [error async for error in row.check_stored(before, self)]

    async def broken_by_stored(self, model: EntityModel, row_id: UUID, before: Values | None) -> list[FieldError]:
        """Return a written row's errors by its rule on other rows; ``before`` has the replaced values."""
        # Read again: the database may round a value, such as a timestamp.
        (row,) = (await self.records.current(model, [row_id])).values()
        return await self.broken_rules(model, RuleInput(row_id, row.values, before))

    async def get(self, kind: type[E], row_id: UUID) -> E | None:
        model = self._model(kind)
        found = (await self.records.current(model, [row_id], shares=self.shares)).get(row_id)
        made = None if found is None else model.made_of(found.values)
        assert made is None or isinstance(made, kind)
        return made

    async def all(self, kind: type[E], *conditions: Condition) -> list[E]:
        model = self._model(kind)
        query = Query(where=conditions, sort=_BY_ID, page_size=MOST_ASKED, count=Count.NONE)
        rows = all_made_of_json(model, (await self.records.page(model, query)).items)
        return [row for row in rows if isinstance(row, kind)]

    async def count(self, kind: type[Struct], *conditions: Condition) -> int:
        page = await self.records.page(self._model(kind), Query(where=conditions, sort=_BY_ID, page_size=1))
        return page.total or 0

    def _model(self, kind: type[Struct]) -> EntityModel:
        return next(model for model in self.registry if model.struct is kind)
