"""Report of the declared entities: paths, fields, relations, permissions and rate limits."""

from collections.abc import Iterable, Iterator

from msgspec import UNSET

from application.entities.descriptions import Descriptions
from domain.entities.declaration import EntityModel, FieldModel, Registry, Relation
from domain.limits import entity_limit
from domain.parts.composition import AREAS
from entrypoints.cli.operator import operator
from entrypoints.terminal.answers import Answer

READING = ("read", "page")
WRITING = ("create", "update", "delete", "restore", "create-batch", "update-batch", "delete-batch")


def describe(registry: Registry) -> Answer:
    """Return the report; as JSON ``GET /api/entities`` with all permissions."""
    described = Descriptions(registry, AREAS).all(operator().rights)
    return Answer("\n".join(_lines(registry)), described)


def _lines(registry: Registry) -> Iterator[str]:
    for model in registry:
        yield from _entity(model)
        yield ""
    yield from (f"Note: {oddity}" for oddity in registry.oddities)


def _entity(model: EntityModel) -> Iterator[str]:
    yield f"{model.name}  /api/{model.plural}"
    yield f"  rows         {', '.join(_kind_of_rows(model))}"
    yield "  fields"
    width = max(len(field.wire) for field in model.fields)
    yield from (f"    {field.wire:<{width}}  {', '.join(_field(field))}" for field in model.fields)
    if model.relations:
        yield "  relations"
        yield from (f"    {relation.name}: {_relation(model, relation)}" for relation in model.relations.values())
    if model.declaration.search:
        yield f"  search       {_wires(model, model.declaration.search)}"
    yield from (f"  unique       {_wires(model, unique.fields)}{_case(unique.ignore_case)}" for unique in model.unique)
    yield f"  order        {_order(model)}"
    actions = ["read"] if not model.declaration.writable else ["create", "read", "update", "delete"]
    actions += ["purge"] if model.can_be_purged else []
    yield f"  permissions  {' '.join(model.permission(action) for action in actions)}"
    yield f"  a minute     {', '.join(_limits(model))}"


def _kind_of_rows(model: EntityModel) -> Iterator[str]:
    yield "of one tenant" if model.tenant_owned else "shared by all tenants"
    yield "soft delete" if model.soft_delete else "deleted for good"
    if not model.declaration.writable:
        yield "read only"
    if model.declaration.history:
        yield "with history"
    if model.declaration.changes:
        yield "with a feed"
    if model.has_rule:
        yield "with a rule of its own"


def _field(field: FieldModel) -> Iterator[str]:
    yield f"decimal({field.money.precision},{field.money.scale})" if field.money else field.kind.value
    if field.choices:
        yield " | ".join(field.choices)
    if field.server_owned:
        yield "set by the service"
    elif field.required:
        yield "required"
    elif field.default not in (None, UNSET):
        yield f"default {_default(field.default)}"
    if field.nullable:
        yield "may be null"
    if field.guard.read or field.guard.write:
        yield f"guarded by {' and '.join(name for name in (field.guard.read, field.guard.write) if name)}"


def _default(value: object) -> str:
    # As JSON has it: `true`, and the value of an enumeration's member.
    return str(value).lower() if isinstance(value, bool) else str(getattr(value, "value", value))


def _wires(model: EntityModel, names: Iterable[str]) -> str:
    return ", ".join(model.by_name[name].wire for name in names)


def _order(model: EntityModel) -> str:
    sort = model.declaration.sort
    return f"{_wires(model, [sort.removeprefix('-')])} {'desc' if sort.startswith('-') else 'asc'}ending"


def _relation(model: EntityModel, relation: Relation) -> str:
    if relation.is_link:
        return f"links to {relation.target}, when one is deleted: {relation.on_delete}"
    if relation.is_many:
        return f"many {relation.target}"
    reference = model.by_name[relation.by].reference
    if reference is not None and reference.on_leave is not None:
        return f"a member, when the membership ends: {reference.on_leave}"
    return f"one of {relation.target}, when that is deleted: {relation.on_delete}"


def _case(ignore_case: bool) -> str:
    return " (without case)" if ignore_case else ""


def _limits(model: EntityModel) -> Iterator[str]:
    for action in READING + (WRITING if model.declaration.writable else ()):
        if action == "restore" and not model.soft_delete:
            continue
        yield f"{action} {entity_limit(model.plural, action).count}"
