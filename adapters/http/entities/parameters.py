"""Query parameters of an entity, as the document describes them."""

from collections.abc import Callable, Iterable

from adapters.http.entities.served_entity import DescribedParameters
from adapters.http.request.rules import Parameter
from domain.entities.declaration import EntityModel, Registry
from domain.entities.query.parameters import (
    QueryParameter,
    export_parameters_of,
    history_parameters_of,
    parameters_of,
    view_parameters_of,
)
from domain.entities.query.query import Hidden

Taken = Callable[[EntityModel, Registry, Hidden], Iterable[QueryParameter]]


def described_parameters(model: EntityModel, registry: Registry) -> DescribedParameters:
    """Functions that describe a list's parameters, a read's, an export's and a history's when they are asked for."""

    def described(taken: Taken) -> Callable[[], tuple[Parameter, ...]]:
        return lambda: tuple(_described(model, parameter) for parameter in taken(model, registry, frozenset()))

    return DescribedParameters(
        page=described(parameters_of),
        view=described(view_parameters_of),
        export=described(export_parameters_of),
        history=described(history_parameters_of),
    )


def _described(model: EntityModel, parameter: QueryParameter) -> Parameter:
    needed = f" Needs `{model.permission('delete')}`." if parameter.name == "includeDeleted" else ""
    return Parameter(parameter.name, parameter.schema, parameter.description + needed)
