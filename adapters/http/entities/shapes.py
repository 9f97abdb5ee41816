"""Types that stand for an entity's JSON in annotations, and what the decorators of its handlers have in common."""

from collections.abc import Callable
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
    """A named schema of the document: a row arrives from the database as JSON, so no struct of it exists."""


@lru_cache(maxsize=4096)
def shape(name: str) -> type[NamedSchema]:
    """``shape("ProductPage")``: the type for annotations of a response that holds a page of products."""
    return type(name, (NamedSchema,), {"__module__": "entities"})


def typed(function: F, answer: Any, body: Any = None) -> F:
    """Gives a closure the types of its entity, which Litestar reads and a type checker cannot."""
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
    """Arguments of a handler's decorator: ``products.read``, its summary with the rows' name for ``{}``, its rules.

    Operations count their limit under their own name, or share that of ``counted_as``.
    """
    options["limit"] = entity_limit(model.plural, counted_as or name)
    title = summary.format(model.plural.replace("-", " "))
    return operation(f"{model.plural}.{name}", title, policy, *errors, **options)


def may_read(model: EntityModel) -> Policy:
    return needs(model.permission("read"))


def may_write(model: EntityModel, action: str) -> Policy:
    """Policy of a handler that writes; rows that all tenants share are written by super-admins only."""
    permission = model.permission(action)
    return needs(permission) if model.tenant_owned else super_admin(permission)


def rule_errors(model: EntityModel) -> tuple[str, ...]:
    return (BROKEN_RULE,) if model.has_rule else ()


def deletion_errors(registry: Registry, model: EntityModel) -> tuple[str, ...]:
    """Errors of the rules of other entities, whose references a deletion clears."""
    return (BROKEN_RULE,) if registry.deletion_asks_a_rule(model) else ()
