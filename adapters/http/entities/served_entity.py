"""An entity with the dependencies of its handlers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import StrictRequest
from application.entities.guarded_fields import GuardedFields
from application.entities.queries import EntityQueries
from domain.entities.declaration import EntityModel
from domain.entities.owning import RowLimits
from domain.scope import Scope

Describe = Callable[[], tuple[Parameter, ...]]


@dataclass(frozen=True, kw_only=True)
class DescribedParameters:
    """OpenAPI descriptions of the query parameters of a list, a read, an export, a history, a summary, a
    feed and its stream."""

    page: Describe
    view: Describe
    export: Describe
    history: Describe
    summary: Describe
    changes: Describe
    stream: Describe


@dataclass(frozen=True, kw_only=True)
class ServedEntity:
    """An entity with the readers of its requests. Functions that create handlers close over it and a use case."""

    model: EntityModel
    queries: EntityQueries
    fields: GuardedFields
    parameters: DescribedParameters

    @cached_property
    def scope(self) -> Callable[[StrictRequest], Scope]:
        """Return the function that gives the rows that a request may read and write."""
        limits = RowLimits(self.fields.registry, self.model)
        # Requests that no ownership rule concerns do not compute limits.
        return (lambda request: request.row_scope(limits)) if limits.can_limit else attrgetter("tenant_scope")
