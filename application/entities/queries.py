"""Queries of an entity, parsed with a check that the caller may read all their fields."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from domain.entities.changes.asking import PAGING, Asked, read_entity_feed
from domain.entities.declaration import NOTHING_HIDDEN, EntityModel, Hidden, Registry
from domain.entities.query.query import Condition, Parameters, Query, View, entities_read, of_caller
from domain.entities.query.read_query import read_export, read_history, read_query, read_view
from domain.scope import Caller

# Clients repeat few queries.
QueryReader = Callable[[EntityModel, Registry, Hidden, Parameters], Query]
REMEMBERED = 2_048
LONGEST_REMEMBERED = 500


@dataclass(frozen=True)
class EntityQueries:
    model: EntityModel
    registry: Registry

    def query(self, caller: Caller, parameters: Parameters) -> Query:
        return self._read(_query, caller, parameters)

    def view(self, caller: Caller, parameters: Sequence[tuple[str, str]]) -> View:
        if not parameters:  # most reads have no parameters
            return View(hidden=self._hidden_from(caller))
        view = read_view(self.model, self.registry, self._hidden_from(caller), parameters)
        self._ensure_may_see(caller, view, view)
        return view

    def export(self, caller: Caller, parameters: Parameters) -> Query:
        return self._read(read_export, caller, parameters)

    def history(self, caller: Caller, parameters: Parameters) -> Query:
        return self._read(read_history, caller, parameters)

    def feed(
        self, caller: Caller, parameters: Parameters, paging: Sequence[str] = PAGING
    ) -> tuple[Asked, tuple[Condition, ...]]:
        asked, where = read_entity_feed(self.model, self.registry, self._hidden_from(caller), parameters, paging)
        return asked, of_caller(Query(where=where, sort=()), caller.user_id).where

    def _read(self, reader: QueryReader, caller: Caller, parameters: Parameters) -> Query:
        query = reader(self.model, self.registry, self._hidden_from(caller), parameters)
        self._ensure_may_see(caller, query, query.view)
        # Not before: callers share the parsed queries.
        return of_caller(query, caller.user_id) if query.names_caller else query

    @cached_property
    def _has_guards(self) -> bool:
        # Not of the whole registry: queries that hide nothing share their statements, whoever asks.
        return any(model.hides_fields for model in self.registry.reached_from(self.model))

    def _hidden_from(self, caller: Caller) -> Hidden:
        return self.registry.hidden_from(caller.rights) if self._has_guards else NOTHING_HIDDEN

    def _ensure_may_see(self, caller: Caller, asked: Query | View, view: View) -> None:
        """Raise Forbidden unless the caller may read related entities, and delete if deleted rows are included."""
        for plural in entities_read(self.model, self.registry, asked):
            caller.ensure_may(*self.registry[plural].permissions("read"))
        if view.include_deleted:
            caller.ensure_may(*self.model.permissions("delete"))


def _query(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """Cache short valid queries."""
    pairs = tuple(parameters)
    if sum(len(name) + len(text) for name, text in pairs) > LONGEST_REMEMBERED:
        return read_query(model, registry, hidden, pairs)
    return _remembered(model, registry, hidden, pairs)


_remembered = lru_cache(REMEMBERED)(read_query)
