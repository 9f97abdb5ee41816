"""A read without parameters is not parsed, and asks for what an empty query asks for."""

from types import SimpleNamespace
from typing import Any, cast

from application.entities.queries import EntityQueries
from domain.entities.query.read_query import read_view
from entrypoints.assembly.entities import load_registry


def test_no_parameters_are_an_empty_query() -> None:
    registry = load_registry(("tenantry.catalogue",))
    caller = cast(Any, SimpleNamespace(permissions=frozenset(), ensure_may=None))
    for model in registry:
        view = EntityQueries(model, registry).view(caller, ())
        assert view == read_view(model, registry, registry.hidden_from(caller.permissions), ())
