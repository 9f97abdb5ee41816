"""An entity with the dependencies of its handlers."""

from collections.abc import Callable
from dataclasses import dataclass

from adapters.http.request.rules import Parameter
from application.entities.guarded_fields import GuardedFields
from application.entities.queries import EntityQueries
from domain.entities.declaration import EntityModel

Describe = Callable[[], tuple[Parameter, ...]]


@dataclass(frozen=True, kw_only=True)
class DescribedParameters:
    """OpenAPI descriptions of the query parameters of a list, a read, an export, a history and a summary."""

    page: Describe
    view: Describe
    export: Describe
    history: Describe
    summary: Describe


@dataclass(frozen=True, kw_only=True)
class ServedEntity:
    """An entity with the readers of its requests. Functions that create handlers close over it and a use case."""

    model: EntityModel
    queries: EntityQueries
    fields: GuardedFields
    parameters: DescribedParameters
