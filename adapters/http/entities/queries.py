"""Queries of one entity: parsed for their caller, and described as parameters of the document."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from adapters.http.request.rules import Parameter
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.cursors import write_cursor
from domain.entities.query.parameters import QueryParameter as Taken
from domain.entities.query.parameters import (
    export_parameters_of,
    history_parameters_of,
    parameters_of,
    view_parameters_of,
)
from domain.entities.query.query import Hidden, Parameters, Query, View, entities_read
from domain.entities.query.read_query import read_export, read_history, read_query, read_view
from domain.entities.visibility import hidden_from
from domain.scope import Caller

NOTHING: Hidden = frozenset()
FILTERS = Parameter(
    "filters",
    # exploded, as forms are: each member is a parameter of its own
    {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
    "Filters with operators, bounds, and properties of related rows up to three relations deep, each a parameter of "
    "its own: `price.gte=10`, `minPrice=10`, `category.name.contains=lamp`. The schemas of the properties' own "
    "parameters tell the operators.",
    style="form",
)
# the same few queries are asked for all day
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
        if not parameters:  # what nearly every read asks for
            return View(hidden=self._hidden_from(caller))
        view = read_view(self.model, self.registry, self._hidden_from(caller), parameters)
        self._ensure_may_see(caller, view, view)
        return view

    def export(self, caller: Caller, parameters: Parameters) -> Query:
        return self._read(read_export, caller, parameters)

    def history(self, caller: Caller, parameters: Parameters) -> Query:
        return self._read(read_history, caller, parameters)

    def _read(self, reader: QueryReader, caller: Caller, parameters: Parameters) -> Query:
        query = reader(self.model, self.registry, self._hidden_from(caller), parameters)
        self._ensure_may_see(caller, query, query.view)
        return query

    @cached_property
    def _has_guards(self) -> bool:
        return any(field.guard.read is not None for model in self.registry for field in model.fields)

    def _hidden_from(self, caller: Caller) -> Hidden:
        return hidden_from(self.registry, caller.permissions) if self._has_guards else NOTHING

    def _ensure_may_see(self, caller: Caller, asked: Query | View, view: View) -> None:
        """Related rows need read on their own entity; deleted ones need what deleting them needs."""
        for plural in entities_read(self.model, self.registry, asked):
            caller.ensure_may(self.registry[plural].permission("read"))
        if view.include_deleted:
            caller.ensure_may(self.model.permission("delete"))

    def view_parameters(self) -> tuple[Parameter, ...]:
        return self._described(view_parameters_of)

    def page_parameters(self) -> tuple[Parameter, ...]:
        return (*self._described(parameters_of), *self._filters())

    def export_parameters(self) -> tuple[Parameter, ...]:
        return (*self._described(export_parameters_of), *self._filters())

    def history_parameters(self) -> tuple[Parameter, ...]:
        return self._described(history_parameters_of)

    def _described(self, taken: Callable[[EntityModel, Registry, Hidden], Iterable[Taken]]) -> tuple[Parameter, ...]:
        """Parameters for everybody's eyes: fields that need a permission are not in the document."""
        return tuple(
            Parameter(parameter.name, parameter.schema, self._with_permission(parameter))
            for parameter in taken(self.model, self.registry, hidden_from(self.registry, ()))
        )

    def _filters(self) -> tuple[Parameter, ...]:
        # a property of this name has the parameter for itself
        return () if FILTERS.name in self.model.by_wire else (FILTERS,)

    def _with_permission(self, parameter: Taken) -> str:
        needed = f" Needs `{self.model.permission('delete')}`." if parameter.name == "includeDeleted" else ""
        return parameter.description + needed


def _query(model: EntityModel, registry: Registry, hidden: Hidden, parameters: Parameters) -> Query:
    """Remembers short queries, and never mistakes."""
    pairs = tuple(parameters)
    if sum(len(name) + len(text) for name, text in pairs) > LONGEST_REMEMBERED:
        return read_query(model, registry, hidden, pairs)
    return _remembered(model, registry, hidden, pairs)


_remembered = lru_cache(REMEMBERED)(read_query)


def cursor_after(query: Query, last: tuple[object, ...]) -> str:
    return write_cursor(query.sort, last)
