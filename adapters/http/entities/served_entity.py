"""Entity with all that its handlers need."""

from collections.abc import Callable
from dataclasses import dataclass

from adapters.http.request.rules import Parameter
from application.entities.guarded_fields import GuardedFields
from application.entities.queries import EntityQueries
from domain.entities.declaration import EntityModel

Describe = Callable[[], tuple[Parameter, ...]]


@dataclass(frozen=True, kw_only=True)
class DescribedParameters:
    """Descriptions of the query parameters that a list, a read, an export and a history take, for the document."""

    page: Describe
    view: Describe
    export: Describe
    history: Describe


@dataclass(frozen=True, kw_only=True)
class ServedEntity:
    """The entity and what reads requests for it; factories of handlers close over it and a use case."""

    model: EntityModel
    queries: EntityQueries
    fields: GuardedFields
    parameters: DescribedParameters
