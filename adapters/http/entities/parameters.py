"""Query parameters of an entity, as described in the OpenAPI document."""

from collections.abc import Callable, Iterable

from adapters.http.entities.changes.feed_parameters import FEED_PAGING, STREAM_START
from adapters.http.entities.served_entity import DescribedParameters
from adapters.http.request.rules import Parameter
from domain.entities.declaration import EntityModel, Hidden, Registry
from domain.entities.query.parameters import (
    QueryParameter,
    export_parameters_of,
    feed_parameters_of,
    history_parameters_of,
    parameters_of,
    summary_parameters_of,
    view_parameters_of,
)
from domain.scope import Rights

FILTERS = Parameter(
    "filters",
    # exploded, as in forms: each member is a separate parameter
    {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
    "Filters with operators, bounds, and properties of related rows up to three relations deep, each a parameter of "
    "its own: `price.gte=10`, `minPrice=10`, `category.name.contains=lamp`. The schemas of the properties' own "
    "parameters tell the operators.",
    style="form",
)
# The document is for everybody's eyes: fields that need a permission are not in it. Those that super-admins alone see
# are the service's own, and their names are no secret.
DOCUMENTED = Rights(permissions=(), is_super_admin=True)
"""Rights of the reader for whom the OpenAPI document is made."""
Taken = Callable[[EntityModel, Registry, Hidden], Iterable[QueryParameter]]


def described_parameters(model: EntityModel, registry: Registry) -> DescribedParameters:
    """Return functions that describe, on request, the parameters of each kind of read."""

    # a property of this name uses the parameter itself
    filters = () if FILTERS.name in model.by_wire else (FILTERS,)

    def described(taken: Taken, *further: Parameter) -> Callable[[], tuple[Parameter, ...]]:
        def describe() -> tuple[Parameter, ...]:
            hidden = registry.hidden_from(DOCUMENTED)
            return (*(_described(model, parameter) for parameter in taken(model, registry, hidden)), *further)

        return describe

    return DescribedParameters(
        page=described(parameters_of, *filters),
        view=described(view_parameters_of),
        export=described(export_parameters_of, *filters),
        history=described(history_parameters_of),
        summary=described(summary_parameters_of, *filters),
        changes=described(feed_parameters_of, *FEED_PAGING),
        stream=described(feed_parameters_of, *STREAM_START),
    )


def _described(model: EntityModel, parameter: QueryParameter) -> Parameter:
    permissions = " or ".join(f"`{name}`" for name in model.permissions("delete"))
    needed = f" Needs {permissions}." if parameter.name == "includeDeleted" else ""
    return Parameter(parameter.name, parameter.schema, parameter.description + needed)
