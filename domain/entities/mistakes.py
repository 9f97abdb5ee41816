"""Checks of declarations against each other; each mistake is one line of the report."""

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
# A field with one of these names could not be filtered by.
RESERVED_PARAMETERS = frozenset(
    """page pagesize search sort sortby sortdirection sortorder include fields count cursor includedeleted
    format bom permanent""".split()
)
_PLURAL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_BATCHES = ("BatchCreate", "BatchItem", "BatchUpdate", "BatchCreated", "BatchUpdated")
_SCHEMA_SUFFIXES = ("", "Create", "Update", "Page", "Export", *_BATCHES)


def duplicates(models: Sequence[EntityModel]) -> list[str]:
    """Plurals and OpenAPI schema names that more than one entity would have."""
    plurals = Counter(model.plural for model in models)
    schemas = Counter(schema for model in models for schema in _schema_names(model))
    return [
        *(f"{plural!r} is declared {count} times" for plural, count in plurals.items() if count > 1),
        *(f"{schema!r} would be the name of {count} OpenAPI schemas" for schema, count in schemas.items() if count > 1),
    ]


def _schema_names(model: EntityModel) -> list[str]:
    return [f"{model.name}{shape}" for shape in _SCHEMA_SUFFIXES]


def mistakes_of(model: EntityModel, registry: Registry, owned: Container[str]) -> Iterable[str]:
    """Mistakes of one entity, each a sentence to follow its name; ``owned`` are field names that the service writes."""
    yield from _name_mistakes(model)
    yield from _field_mistakes(model, owned)
    for relation in model.relations.values():
        yield from _relation_mistakes(model, relation, registry)
    for constraint in model.unique:
        yield from (
            f"unique() names {name!r}, which is not a field of it"
            for name in constraint.fields
            if name not in model.by_name
        )
    for name in model.declaration.search:
        if name not in model.by_name or model.by_name[name].kind is not Kind.TEXT:
            yield f"search names {name!r}, which is not one of its text fields"
    if model.declaration.sort.removeprefix("-") not in model.by_name:
        yield f"sort names {model.declaration.sort!r}, which is not a field of it"
    yield from (
        f"check_reads names {name!r}, which it does not declare"
        for name in sorted((model.declaration.check_reads or frozenset()) - set(model.names))
    )
    if model.declaration.check_reads is not None and not model.has_check:
        yield "check_reads is declared, but the entity has no method check"
    if model.asks_other_rows and not isasyncgenfunction(model.struct.check_stored):  # type: ignore[attr-defined]
        yield "check_stored must be an `async def` that yields errors"


def _name_mistakes(model: EntityModel) -> Iterable[str]:
    if not _PLURAL.fullmatch(model.plural):
        yield f"{model.plural!r} is not a valid path: use lower-case words joined by hyphens"
    if model.plural in RESERVED_PATHS:
        yield f"{model.plural!r} is a path of the service itself"
    if model.plural in RESERVED_TABLES:
        yield f"{model.plural!r} is a table of the service itself"


def _field_mistakes(model: EntityModel, owned: Container[str]) -> Iterable[str]:
    # A to-many relation that is included adds ``<name>HasMore`` to the row.
    more = [f"{name}HasMore" for name, relation in model.relations.items() if relation.is_many]
    seen = Counter(name.lower() for name in (*(field.wire for field in model.fields), *model.relations, *more))
    yield from (f"the name {name!r} is used twice" for name, count in seen.items() if count > 1)
    for field in model.declared:
        if field.name in owned:
            yield f"field {field.name!r} has a name that the service uses itself"
        if field.wire.lower() in RESERVED_PARAMETERS:
            yield f"field {field.name!r} has the name of a query parameter"
        if field.reference is not None and field.kind is not Kind.UUID:
            yield f"field {field.name!r} refers to {field.reference.target!r} but is not a UUID"
        if field.reference is not None and field.reference.on_delete == "clear" and not field.nullable:
            yield f"field {field.name!r} is cleared on delete but cannot be null"


def _relation_mistakes(model: EntityModel, relation: Relation, registry: Registry) -> Iterable[str]:
    target = registry.models.get(relation.target)
    if target is None:
        yield f"relation {relation.name!r} leads to {relation.target!r}, which is not declared"
        return
    # Security: a shared row would show rows of one tenant to all others.
    if not model.tenant_owned and target.tenant_owned:
        yield f"relation {relation.name!r} leads from rows shared by all tenants to rows of one tenant"
    if relation.is_many:
        by = target.by_name.get(relation.by)
        if by is None or by.reference is None or by.reference.target != model.plural:
            yield f"relation {relation.name!r} needs a field {relation.by!r} of {relation.target!r} that refers back"


def oddities(models: Sequence[EntityModel]) -> Iterable[str]:
    """Remarks on declarations that work but may surprise.

    Example: a field ``minPrice`` beside ``price`` hides the filter for the lower bound of ``price``.
    """
    for model in models:
        wires = {field.wire.lower(): field.wire for field in model.fields}
        for lower, wire in wires.items():
            for name in (f"min{lower}", f"max{lower}", f"{lower}after", f"{lower}before"):
                if name in wires:
                    yield f"{model.name}: the property {wires[name]!r} wins over the bound on {wire!r}"
