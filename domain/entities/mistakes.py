"""What can be wrong with declarations taken together: each mistake is a line of one report."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from inspect import isasyncgenfunction

from domain.entities.declaration import EntityModel, Kind, Registry, Relation

RESERVED_PATHS = frozenset({"auth", "users", "roles", "permissions", "tenants"})
RESERVED_TABLES = frozenset(
    """alembic-version login-attempts membership-roles memberships revocation-counts sessions signing-keys
    user-roles row-history kept-answers""".split()
)
RESERVED_PARAMETERS = frozenset(
    """page pagesize search sort sortby sortdirection sortorder include fields count cursor includedeleted
    format bom permanent""".split()
)
_PLURAL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_BATCHES = ("BatchCreate", "BatchItem", "BatchUpdate", "BatchCreated", "BatchUpdated")
_SHAPES = ("", "Create", "Update", "Page", "Export", *_BATCHES)


def clashes(models: Sequence[EntityModel]) -> list[str]:
    plurals = Counter(model.plural for model in models)
    shapes = Counter(shape for model in models for shape in _shapes(model))
    return [
        *(f"{plural!r} is declared {count} times" for plural, count in plurals.items() if count > 1),
        *(f"{shape!r} would be the schema of {count} things" for shape, count in shapes.items() if count > 1),
    ]


def _shapes(model: EntityModel) -> list[str]:
    """The names of its schemas in the description."""
    return [f"{model.name}{shape}" for shape in _SHAPES]


def mistakes_of(model: EntityModel, registry: Registry, owned: Container[str]) -> Iterable[str]:
    """``owned`` are the names of fields that the service writes, in any entity."""
    yield from _name_mistakes(model)
    yield from _field_mistakes(model, owned)
    for relation in model.relations.values():
        yield from _relation_mistakes(model, relation, registry)
    for one in model.unique:
        yield from (f"unique() names {name!r}, which it has not" for name in one.fields if name not in model.by_name)
    for name in model.declaration.search:
        if name not in model.by_name or model.by_name[name].kind is not Kind.TEXT:
            yield f"search names {name!r}, which is not a text of it"
    if model.declaration.sort.removeprefix("-") not in model.by_name:
        yield f"sort names {model.declaration.sort!r}, which it has not"
    yield from (
        f"check_reads names {name!r}, which it does not declare"
        for name in sorted((model.declaration.check_reads or frozenset()) - set(model.names))
    )
    if model.declaration.check_reads is not None and not model.has_check:
        yield "check_reads says what check looks at, but there is no check"
    if model.asks_other_rows and not isasyncgenfunction(model.struct.check_stored):  # type: ignore[attr-defined]
        yield "check_stored is no `async def` that yields its errors"


def _name_mistakes(model: EntityModel) -> Iterable[str]:
    if not _PLURAL.fullmatch(model.plural):
        yield f"{model.plural!r} is no path: it takes lower-case words joined by hyphens"
    if model.plural in RESERVED_PATHS:
        yield f"{model.plural!r} is a path of the service itself"
    if model.plural in RESERVED_TABLES:
        yield f"{model.plural!r} is a table of the service itself"


def _field_mistakes(model: EntityModel, owned: Container[str]) -> Iterable[str]:
    more = [f"{name}HasMore" for name, relation in model.relations.items() if relation.is_many]
    seen = Counter(name.lower() for name in (*(one.wire for one in model.fields), *model.relations, *more))
    yield from (f"the name {name!r} stands for two things" for name, count in seen.items() if count > 1)
    for one in model.declared:
        if one.name in owned:
            yield f"field {one.name!r} has a name of the service's own"
        if one.wire.lower() in RESERVED_PARAMETERS:
            yield f"field {one.name!r} has the name of a query parameter"
        if one.reference is not None and one.kind is not Kind.UUID:
            yield f"field {one.name!r} refers to {one.reference.target!r} but is no UUID"
        if one.reference is not None and one.reference.on_delete == "clear" and not one.nullable:
            yield f"field {one.name!r} is cleared on delete but cannot be null"


def _relation_mistakes(model: EntityModel, relation: Relation, registry: Registry) -> Iterable[str]:
    target = registry.models.get(relation.target)
    if target is None:
        yield f"relation {relation.name!r} leads to {relation.target!r}, which is not declared"
        return
    if not model.tenant_owned and target.tenant_owned:
        yield f"relation {relation.name!r} would lead from rows that all share into a tenant's"
    if relation.is_many:
        by = target.by_name.get(relation.by)
        if by is None or by.reference is None or by.reference.target != model.plural:
            yield f"relation {relation.name!r} needs a field {relation.by!r} of {relation.target!r} that refers back"


def oddities(models: Sequence[EntityModel]) -> Iterable[str]:
    for model in models:
        wires = {one.wire.lower(): one.wire for one in model.fields}
        for bare, wire in wires.items():
            for name in (f"min{bare}", f"max{bare}", f"{bare}after", f"{bare}before"):
                if name in wires:
                    yield f"{model.name}: the property {wires[name]!r} wins over the bound on {wire!r}"
