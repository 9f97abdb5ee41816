"""Errors within and between entities, one line of the report each."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import get_args

from domain.entities.declaration import EntityModel, FieldModel, Registry, Relation
from domain.entities.kinds import LISTS, Kind
from domain.entities.markers import MEMBERS, Mine, OnDeleteReferred, OnLeave, Reference, Unique
from domain.entities.mistakes.attachments import attached_entity_mistakes
from domain.entities.mistakes.feeds import feed_mistakes
from domain.entities.mistakes.fields import is_spellable, length_mistake, name_mistakes
from domain.entities.mistakes.links import linked_entity_mistakes, route_mistakes
from domain.entities.mistakes.methods import method_mistakes
from domain.entities.mistakes.own_rules import own_mistakes
from domain.entities.mistakes.places import Mistake, nearest_hint, place_of
from domain.entities.mistakes.screens import screen_mistakes
from domain.parts.composition import TABLES

RESERVED_PATHS = frozenset(
    """auth entities system users roles permissions tenants service-accounts invitations webhooks changes usage files
    tenant-settings members operations""".split()
)
"""First path segments under /api that the service uses or reserves."""

RESERVED_TABLES = frozenset({"alembic-version", *(name.replace("_", "-") for name in TABLES)})
"""The service's own tables, with hyphens as in paths."""

# `is_name_of_part` in adapters/postgres/schema/parts.py recognizes these names as partitions, so a migration would skip
# such a table.
_PARTS = re.compile(r"(audit-events|row-history|changes)-(?:\d{6}(?:\d{2})?|rest)")
# Query parameters of the service: a field with one of these names could not be a filter.
RESERVED_PARAMETERS = frozenset(
    """page pagesize search sort sortby sortdirection sortorder include fields count cursor includedeleted
    format bom permanent""".split()
)
_PLURAL = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_BATCHES = ("BatchCreate", "BatchItem", "BatchUpdate", "BatchCreated", "BatchUpdated", "BatchUpsert", "BatchUpserted")
_SCHEMA_SUFFIXES = ("", "Create", "Update", "Page", "Export", "SummaryData", *_BATCHES)


Broken = Mapping[str, frozenset[str]]
"""Unreadable fields by the plural of their entity: a declaration that depends on one gets no separate error."""


def duplicates(models: Sequence[EntityModel]) -> list[str]:
    """Return duplicate plurals and OpenAPI schema names of entities."""
    plurals = Counter(model.plural for model in models)
    schemas = Counter(schema for model in models for schema in _schema_names(model))
    return [
        *(
            f"{plural!r} is declared {count} times{_places(models, plural)}"
            for plural, count in plurals.items()
            if count > 1
        ),
        *(f"{schema!r} would be the name of {count} OpenAPI schemas" for schema, count in schemas.items() if count > 1),
        *_indexes_of_one_name(models),
    ]


def _indexes_of_one_name(models: Sequence[EntityModel]) -> Iterable[str]:
    makers: dict[str, dict[str, EntityModel]] = {}
    for model in models:
        for name, maker in _index_names(model):
            makers.setdefault(name, {})[f"{maker} of {model.name}"] = model
    for name, made in makers.items():
        if len(made) > 1:
            places = "".join(dict.fromkeys(place_of(model.struct) for model in made.values()))
            remedy = "keep one of them, or call a field or an entity otherwise"
            yield f"{' and '.join(made)} would have indexes of one name, {name}: {remedy}{places}"


def _index_names(model: EntityModel) -> Iterable[tuple[str, str]]:
    """Names of the entity's indexes, each with its declaration: PostgreSQL requires unique names in the database."""
    for unique in model.unique:
        case = ", ignore_case=True" if unique.ignore_case else ""
        yield "_".join(("uq", model.table, *unique.fields)), f"unique({', '.join(map(repr, unique.fields))}{case})"
    for index in model.declaration.indexes:
        yield "_".join(("ix", model.table, "by", *index.fields)), f"index({', '.join(map(repr, index.fields))})"
    for rule in model.declaration.own:
        if isinstance(rule, Mine):
            yield f"ix_{model.table}_own_{rule.field}", f"mine({rule.field!r})"
    for field in model.declared:
        if field.reference is not None:
            yield f"ix_{model.table}_{field.name}", f"the reference {field.name!r}"
    yield f"ix_{model.table}_order", "the default order"
    if model.indexed_search:
        yield f"ix_{model.table}_search", "search"


def _places(models: Sequence[EntityModel], plural: str) -> str:
    return "".join(dict.fromkeys(place_of(model.struct) for model in models if model.plural == plural))


def _schema_names(model: EntityModel) -> list[str]:
    return [f"{model.name}{shape}" for shape in _SCHEMA_SUFFIXES]


def mistakes_of(model: EntityModel, registry: Registry, owned: Container[str], broken: Broken) -> Iterable[Mistake]:
    """Return the errors of one entity; ``owned`` are fields that the service writes."""
    yield from _name_mistakes(model)
    yield from _field_mistakes(model, owned)
    held = {field.name for field in model.attachments}
    for relation in model.relations.values():
        if relation.is_inverse or relation.by not in held:
            yield from _relation_mistakes(model, relation, registry, broken)
    for unique in model.unique:
        yield from _unique_mistakes(model, unique)
    yield from linked_entity_mistakes(model)
    yield from attached_entity_mistakes(model)
    yield from _index_mistakes(model)
    yield from _option_mistakes(model, broken.get(model.plural, frozenset()))
    yield from own_mistakes(model, registry, broken.get(model.plural, frozenset()))
    yield from screen_mistakes(model)
    yield from method_mistakes(model)


def _unique_mistakes(model: EntityModel, unique: Unique) -> Iterable[Mistake]:
    listed = ", ".join(map(repr, unique.fields))
    if not unique.fields:
        yield Mistake('unique() names no field: name one or more, as in unique("code")')
    for name in unique.fields:
        if name not in model.by_name:
            yield Mistake(f"unique() names {name!r}, which is not a field of it")
    if len(set(unique.fields)) < len(unique.fields):
        yield Mistake(f"unique({listed}) names a field twice")
    if model.unique.count(unique) > 1 and unique is next(each for each in model.unique if each == unique):
        yield Mistake(f"unique({listed}) is declared twice")


def _index_mistakes(model: EntityModel) -> Iterable[Mistake]:
    indexes = model.declaration.indexes
    for position, index in enumerate(indexes):
        listed = ", ".join(map(repr, index.fields))
        if not index.fields:
            yield Mistake('index() names no field: name one or more, as in index("category_id", "price")')
        for name in index.fields:
            if name not in model.by_name:
                yield Mistake(f"index() names {name!r}, which is not a field of it")
            elif model.by_name[name].kind in LISTS:
                yield Mistake(f"index() names {name!r}, which is a list and has no order")
        if len(set(index.fields)) < len(index.fields):
            yield Mistake(f"index({listed}) names a field twice")
        if index in indexes[:position]:
            yield Mistake(f"index({listed}) is declared twice")


def _option_mistakes(model: EntityModel, broken: Container[str]) -> Iterable[Mistake]:
    declaration = model.declaration
    for name in declaration.search:
        if name not in broken and (name not in model.by_name or model.by_name[name].kind is not Kind.TEXT):
            yield Mistake(f"search names {name!r}, which is not one of its text fields")
    if not (declaration.search or declaration.search_index):
        yield Mistake("search_index=False is declared, but no search fields are")
    if declaration.history and not declaration.writable:
        yield Mistake("history is declared beside writable=False, but rows that nobody writes have no changes to keep")
    yield from feed_mistakes(model)
    sort = model.by_name.get(declaration.sort.removeprefix("-"))
    if sort is None:
        yield Mistake(f"sort names {declaration.sort!r}, which is not a field of it")
    elif sort.kind in LISTS:
        yield Mistake(f"sort names {declaration.sort!r}, which is a list and has no order")
    yield from (
        Mistake(f"check_reads names {name!r}, which it does not declare")
        for name in sorted((declaration.check_reads or frozenset()) - set(model.names))
    )
    if declaration.check_reads is not None and not model.has_check:
        yield Mistake("check_reads is declared, but the entity has no method check")


def _name_mistakes(model: EntityModel) -> Iterable[Mistake]:
    if not _PLURAL.fullmatch(model.plural):
        yield Mistake(f"{model.plural!r} is not a valid path: use lower-case words joined by hyphens")
    if model.plural in RESERVED_PATHS and not model.declaration.is_view:
        yield Mistake(f"{model.plural!r} is a path of the service itself")
    elif model.plural in RESERVED_TABLES:
        yield Mistake(f"{model.plural!r} is a table of the service itself")
    if part := _PARTS.fullmatch(model.plural):
        yield Mistake(
            f"{model.plural!r} is a name of a part of the service's table {part[1]!r}, of a time or the rest: choose"
            " another path"
        )
    # PostgreSQL searches the schema pg_catalog first for unqualified names, even quoted ones, and names in it begin
    # with ``pg_``.
    if model.plural.startswith("pg-"):
        yield Mistake(f"{model.plural!r} begins with 'pg-', as the system tables of PostgreSQL do: choose another path")
    if too_long := length_mistake(model.plural):
        yield Mistake(f"the path {too_long}")


def _field_mistakes(model: EntityModel, owned: Container[str]) -> Iterable[Mistake]:
    # An included to-many relation adds ``<name>HasMore`` to the row.
    more = [f"{name}HasMore" for name, relation in model.relations.items() if relation.is_many]
    seen = Counter(name.lower() for name in (*(field.wire for field in model.fields), *model.relations, *more))
    yield from (Mistake(f"the name {name!r} is used twice") for name, count in seen.items() if count > 1)
    for field in model.declared:
        if field.name in owned:
            yield Mistake(f"field {field.name!r} has a name that the service uses itself", field.name)
        if field.wire.lower() in RESERVED_PARAMETERS:
            yield Mistake(f"field {field.name!r} has the name of a query parameter", field.name)
        yield from name_mistakes(field)


def _relation_mistakes(model: EntityModel, relation: Relation, registry: Registry, broken: Broken) -> Iterable[Mistake]:
    member = None if relation.is_inverse else relation.by
    yield from route_mistakes(relation)
    if not is_spellable(relation.name):
        yield Mistake(
            f"relation {relation.name!r} has a name that no filter can spell: use letters, digits, underscores and "
            "hyphens",
            member,
        )
    if not relation.is_many:
        yield from _reference_mistakes(model, relation)
    target = registry.models.get(relation.target)
    if target is None:
        if relation.target not in broken:
            hint = nearest_hint(relation.target, registry.models)
            yield Mistake(
                f"relation {relation.name!r} leads to {relation.target!r}, which is not declared{hint}", member
            )
        return
    # Security: a shared row that references a tenant's row would show it to all other tenants.
    if not model.tenant_owned and target.tenant_owned:
        yield Mistake(f"relation {relation.name!r} leads from rows shared by all tenants to rows of one tenant", member)
    if relation.is_inverse:
        by = target.by_name.get(relation.by)
        is_known = relation.by not in broken.get(relation.target, ())
        if is_known and (by is None or by.target != model.plural):
            yield Mistake(
                f"relation {relation.name!r} needs a field {relation.by!r} of {relation.target!r} that refers back"
            )
    else:
        yield from _cascade_mistakes(model, relation, target)


def _reference_mistakes(model: EntityModel, relation: Relation) -> Iterable[Mistake]:
    field = model.by_name[relation.by]
    if field.kind is not Kind.UUID:
        how = f": for a list use links({relation.target!r}) in place of ref(…)"
        is_list = field.kind is Kind.UUIDS and relation.target != MEMBERS
        yield Mistake(
            f"field {field.name!r} refers to {relation.target!r} but is not a UUID{how if is_list else ''}", field.name
        )
    if relation.target == MEMBERS and field.reference is not None:
        yield from _member_mistakes(field, field.reference)
        return
    if relation.on_delete not in get_args(OnDeleteReferred):
        yield Mistake(
            f"field {field.name!r} has on_delete={relation.on_delete!r}, which is unknown: use 'restrict' (deleting "
            "the target is refused), 'cascade' (deletes this row too) or 'clear' (sets null)",
            field.name,
        )
    if relation.on_delete == "clear" and not field.nullable:
        yield Mistake(f"field {field.name!r} is cleared on delete but cannot be null", field.name)


def _member_mistakes(field: FieldModel, reference: Reference) -> Iterable[Mistake]:
    if reference.on_leave is None:
        yield Mistake(
            f'field {field.name!r} is marked ref("members"): use member(on_leave=…), which says what the end of a '
            "membership does",
            field.name,
        )
    elif reference.on_leave not in get_args(OnLeave):
        yield Mistake(
            f"field {field.name!r} has on_leave={reference.on_leave!r}, which is unknown: use 'restrict' (the "
            "membership cannot end), 'clear' (sets null) or 'keep' (keeps the id)",
            field.name,
        )
    elif reference.on_leave == "clear" and not field.nullable:
        yield Mistake(
            f"field {field.name!r} is cleared when its member leaves but cannot be null: add `| None` to its type",
            field.name,
        )


def _cascade_mistakes(model: EntityModel, relation: Relation, target: EntityModel) -> Iterable[Mistake]:
    reference = model.by_name[relation.by].reference
    is_permanent = reference is not None and reference.permanent
    if is_permanent and relation.on_delete != "cascade":
        yield Mistake(f"field {relation.by!r} is permanent, which says something of a cascade alone", relation.by)
    if relation.on_delete == "cascade" and target.soft_delete and not model.soft_delete and not is_permanent:
        yield Mistake(
            f"field {relation.by!r} cascades from {target.plural!r}, whose deleted rows can be restored, to rows that "
            'are deleted for good and do not come back: say so with ref(…, on_delete="cascade", permanent=True), or '
            "declare soft_delete",
            relation.by,
        )


def oddities(models: Sequence[EntityModel]) -> Iterable[str]:
    """Return remarks on valid but possibly surprising declarations.

    Example: a field ``minPrice`` next to ``price`` hides the filter for the lower bound of ``price``.
    """
    for model in models:
        wires = {field.wire.lower(): field.wire for field in model.fields}
        for lower, wire in wires.items():
            for name in (f"min{lower}", f"max{lower}", f"{lower}after", f"{lower}before"):
                if name in wires:
                    yield f"{model.name}: the property {wires[name]!r} wins over the bound on {wire!r}"
