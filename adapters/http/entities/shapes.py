"""Annotation types for an entity's JSON, and shared parts of its handlers' decorators."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar, Unpack, cast

from litestar import Response
from litestar.params import JSONBody

from adapters.http.request.rules import FurtherOptions, Policy, needs, operation, super_admin
from domain.entities.declaration import EntityModel, Registry
from domain.limits import entity_limit

BROKEN_RULE = "UNPROCESSABLE_ENTITY"
F = TypeVar("F", bound=Callable[..., Any])


class NamedSchema:
    """A named schema of the OpenAPI document. Rows have no struct, because the database returns them as JSON."""


@lru_cache(maxsize=4096)
def shape(name: str) -> type[NamedSchema]:
    """Return the response type for annotations: ``shape("ProductPage")`` is a page of products."""
    return type(name, (NamedSchema,), {"__module__": "entities"})


def typed(function: F, answer: Any, body: Any = None) -> F:
    """Annotate a closure with its entity's types, for Litestar."""
    function.__annotations__["return"] = Response[answer]
    if body is not None:
        function.__annotations__["data"] = cast(Any, JSONBody)[body]
    return function


def entity_operation(
    model: EntityModel,
    name: str,
    summary: str,
    policy: Policy,
    *errors: str,
    counted_as: str | None = None,
    **options: Unpack[FurtherOptions],
) -> dict[str, Any]:
    """Return decorator arguments of a handler: operation ``products.read``, a summary with the rows' name in place of
    ``{}``, rules.

    Operations count their rate limit under their own name, or under ``counted_as``.
    """
    options["limit"] = entity_limit(model.plural, counted_as or name)
    title = summary.format(model.plural.replace("-", " "))
    return operation(f"{model.plural}.{name}", title, policy, *errors, **options)


def may_read(model: EntityModel) -> Policy:
    return _or_own(needs(model.permission("read")), model, "read")


def may_write(model: EntityModel, action: str) -> Policy:
    """Return the policy of a handler that writes; only super-admins write rows shared by all tenants."""
    ask = needs if model.tenant_owned else super_admin
    return _or_own(ask(model.permission(action), people=model.declaration.by_people), model, action)


def _or_own(policy: Policy, model: EntityModel, action: str) -> Policy:
    """Admit also callers with the permission for own rows, if the entity has ownership rules."""
    own = model.permissions(action)[1:]
    return replace(policy, or_permission=own) if own else policy


def rule_errors(model: EntityModel) -> tuple[str, ...]:
    return (BROKEN_RULE,) if model.has_rule else ()


def deletion_errors(registry: Registry, model: EntityModel) -> tuple[str, ...]:
    """Return the errors of other entities' rules that a deletion can cause by clearing references."""
    return (BROKEN_RULE,) if registry.deletion_asks_a_rule(model) else ()
