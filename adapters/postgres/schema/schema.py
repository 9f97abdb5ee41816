"""Description of all tables: the models of all packages, and one table per declared entity."""

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Any
from uuid import UUID

from msgspec import UNSET, Struct
from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    Column,
    Date,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Numeric,
    Table,
    Text,
    Uuid,
    literal_column,
    text,
)
from sqlalchemy.types import TypeEngine

from adapters.postgres.entities import tables as entities
from adapters.postgres.entities.changes import tables as changes
from adapters.postgres.entities.webhooks import tables as webhooks
from adapters.postgres.identity import tables as identity
from adapters.postgres.identity.factors import tables as factors
from adapters.postgres.identity.joining import tables as joining
from adapters.postgres.identity.service_accounts import tables as service_accounts
from adapters.postgres.operations import tables as operations
from adapters.postgres.schema.copies import copy_columns, is_lowered, lowered_name, ordered_name
from adapters.postgres.schema.declarative import NAMES
from adapters.postgres.schema.links import add_junctions
from adapters.postgres.schema.members import KEY as MEMBER_KEY
from adapters.postgres.schema.parts import partitioned
from adapters.postgres.schema.sql import (
    CODE_POINTS,
    DELETED_WITH,
    is_soft,
    quoted,
    short_name,
    unique_name,
    without_case,
)
from domain.entities.declaration import EntityModel, FieldModel, Registry
from domain.entities.kinds import Kind
from domain.entities.markers import DeclaredIndex, Mine, Through, Unique
from domain.entities.registry import DeclarationError

SERVICE_TABLES = (
    *identity.TABLES,
    *joining.TABLES,
    *factors.TABLES,
    *service_accounts.TABLES,
    *entities.TABLES,
    *webhooks.TABLES,
    *changes.TABLES,
    *operations.TABLES,
)
"""The tables of all packages."""

LIVING = "NOT is_deleted"


class ColumnKind(Struct, frozen=True):
    """PostgreSQL types of a kind.

    ``column`` is the type of a field's column, ``item`` that of a list's items. ``parameter`` is the type of a value to
    compare or store. The column's own type would be wrong there: ``$1::NUMERIC(12, 2)`` would round the caller's value,
    and ``$1::VARCHAR COLLATE "C"`` would contradict the collation of a case-insensitive comparison.
    """

    column: Callable[[FieldModel], TypeEngine[Any]]
    parameter: TypeEngine[Any]
    item: TypeEngine[Any] | None = None


def _numeric(field: FieldModel) -> Numeric[Any]:
    return Numeric(field.money.precision, field.money.scale) if field.money is not None else Numeric()


COLUMN_KINDS: Mapping[Kind, ColumnKind] = {
    Kind.TEXT: ColumnKind(lambda _: Text(collation=CODE_POINTS), Text()),
    Kind.INTEGER: ColumnKind(lambda _: Integer(), Integer()),
    Kind.BIG_INTEGER: ColumnKind(lambda _: BigInteger(), BigInteger()),
    Kind.DECIMAL: ColumnKind(_numeric, Numeric()),
    Kind.FLOAT: ColumnKind(lambda _: Double(), Double()),
    Kind.BOOLEAN: ColumnKind(lambda _: Boolean(), Boolean()),
    Kind.TIMESTAMP: ColumnKind(lambda _: DateTime(timezone=True), DateTime(timezone=True)),
    Kind.DATE: ColumnKind(lambda _: Date(), Date()),
    Kind.UUID: ColumnKind(lambda _: Uuid(), Uuid()),
    Kind.CHOICE: ColumnKind(lambda _: Text(collation=CODE_POINTS), Text()),
    Kind.UUIDS: ColumnKind(lambda _: ARRAY(Uuid()), ARRAY(Uuid()), item=Uuid()),
    Kind.TEXTS: ColumnKind(lambda _: ARRAY(Text(collation=CODE_POINTS)), ARRAY(Text()), item=Text()),
    Kind.LINKS: ColumnKind(lambda _: ARRAY(Uuid()), ARRAY(Uuid()), item=Uuid()),
}


@lru_cache(maxsize=16)
def metadata_for(registry: Registry) -> MetaData:
    """Return metadata with all tables of the service and of these entities.

    The result is cached per registry, because it needs tens of milliseconds; to add tables, build separate metadata.
    Raises DeclarationError if an entity would use the name of a service table.
    """
    metadata = MetaData(naming_convention=NAMES)
    for part_table in SERVICE_TABLES:
        # Copy: two registries of a process would share the models' MetaData.
        part_table.to_metadata(metadata)
    own = set(metadata.tables)
    if taken := [
        f"{model.name}: {model.plural!r} is a table of the service itself" for model in registry if model.table in own
    ]:
        raise DeclarationError(taken)
    for model in registry.stored:
        table(model, metadata, registry)
    add_junctions(metadata, registry)
    return metadata


def table(model: EntityModel, metadata: MetaData, registry: Registry) -> Table:
    """Add an entity's table, with constraints and indexes, to ``metadata``."""
    # Security: a reference contains (tenant_id, id), so that it cannot name another tenant's row.
    owner = [Column("tenant_id", Uuid(), primary_key=True)] if model.tenant_owned else []
    columns = [_column(field) for field in model.fields if field.name != "tenant_id" and field.link is None]
    taken_along = [Column(DELETED_WITH, Uuid())] if is_soft(model) else []
    made = Table(
        model.table, metadata, *owner, *columns, *taken_along, *copy_columns(model), **partitioned(model.table)
    )
    for field in model.fields:
        if field.reference is not None:
            target = registry[field.reference.target]
            _add_reference(made, model, field, target, is_in_ring=_leads_to(registry, target, model))
            _add_index_of_reference(made, model, field, target)
    for unique in model.unique:
        _add_unique(made, model, unique)
    _add_order(made, model)
    for index in model.declaration.indexes:
        _add_index(made, model, index)
    for rule in model.declaration.own:
        if isinstance(rule, Mine):
            _add_index_of_owner(made, model, rule)
    for by, name in _memberships(registry, model):
        keys = [*_tenant(made), made.c[name], made.c[by]]
        Index(short_name("ix", model.table, "own", name, by), *keys, **_living(model))
    return made


def _memberships(registry: Registry, model: EntityModel) -> Iterator[tuple[str, str]]:
    """Yield the fields with a row and its member, for rules of other entities that find own rows through ``model``."""
    found: set[tuple[str, str]] = set()
    for owned in registry:
        for rule in owned.declaration.own:
            if isinstance(rule, Through):
                relation = registry.target(owned.relations[rule.to_one]).relations[rule.to_many]
                if registry.target(relation) is model:
                    found.add((relation.by, rule.field))
    return iter(sorted(found))


def reference_name(model: EntityModel, field: FieldModel) -> str:
    return short_name("fk", model.table, field.name)


def _column(field: FieldModel) -> Column[Any]:
    return Column(
        field.name,
        COLUMN_KINDS[field.kind].column(field),
        primary_key=field.name == "id",
        nullable=field.nullable,
        server_default=_server_default(field),
    )


def _server_default(field: FieldModel) -> Any:
    # The default is for existing rows when a migration adds the column. The service sends a value for every new row.
    if field.name == "is_deleted":
        return text("false")
    value = field.default
    if value is UNSET or value is None:
        return None
    # A plain string, because text() would read " :word" as a parameter.
    return default_literal(value)


def default_literal(value: object) -> str | None:
    """Return the content of a quoted PostgreSQL literal for the value: ``2026-01-31``, ``{"a","b"}``; None for a value
    that no column can store.
    """
    if isinstance(value, Enum):
        return default_literal(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, str | int | float | Decimal | UUID):
        return str(value)
    if isinstance(value, list | tuple):
        parts = [str(default_literal(item)).replace("\\", "\\\\").replace('"', '\\"') for item in value]
        return "{" + ",".join(f'"{part}"' for part in parts) + "}"
    return None


def _leads_to(registry: Registry, model: EntityModel, end: EntityModel) -> bool:
    seen, waiting = {end.plural}, [model] if model is not end else []
    while waiting:
        for field in waiting.pop().fields:
            target = field.reference.target if field.reference is not None else None
            if target == end.plural:
                return True
            if target is not None and target not in seen:
                seen.add(target)
                waiting.append(registry[target])
    return False


def _add_reference(
    made: Table, model: EntityModel, field: FieldModel, target: EntityModel, *, is_in_ring: bool
) -> None:
    # The key has no ON DELETE, because the service's statements handle deletions; the key refuses any other deletion.
    if field.reference is not None and field.reference.may_dangle:
        return
    owner = ["tenant_id"] if target.tenant_owned else []
    local, remote = [*owner, field.name], [f"{target.table}.{name}" for name in (*owner, "id")]
    if target.declaration.is_view:
        remote = list(MEMBER_KEY)
    name, waits = reference_name(model, field), is_in_ring or None
    # In a ring, no order suits all tables: add keys last and defer them to the commit.
    made.append_constraint(ForeignKeyConstraint(local, remote, name=name, use_alter=is_in_ring, deferrable=waits))


def _add_index_of_reference(made: Table, model: EntityModel, field: FieldModel, target: EntityModel) -> None:
    """Indexes a reference; in the entity's default order if rows of the target list those that refer to them."""
    keys = [*([made.c.tenant_id] if target.tenant_owned else []), made.c[field.name]]
    if not any(
        each.is_many and (each.target, each.by) == (model.plural, field.name) for each in target.relations.values()
    ):
        # Most rows hold no file, and no statement searches for those.
        held = None if field.attachment is None else keys[-1].is_not(None)
        Index(short_name("ix", model.table, field.name), *keys, postgresql_where=held)
        return
    # Deleted rows too: PostgreSQL looks for rows that refer to a row when it deletes that row for good.
    Index(short_name("ix", model.table, field.name, "order"), *keys, *_order(made, model))


def _add_unique(made: Table, model: EntityModel, unique: Unique) -> None:
    keys = [_unique_key(made, model, name, unique) for name in unique.fields]
    index = Index(unique_name(model, unique), *_tenant(made), *keys, unique=True, **_living(model))
    # Attach it: an index of only expressions, as in a shared entity, does not know its table.
    Table(made.name, made.metadata, index, extend_existing=True)


def _unique_key(made: Table, model: EntityModel, name: str, unique: Unique) -> Any:
    field = model.by_name[name]
    if not unique.ignore_case or field.kind is not Kind.TEXT:
        return made.c[name]
    return made.c[lowered_name(field)] if is_lowered(model, field) else literal_column(without_case(quoted(name)))


def _add_order(made: Table, model: EntityModel) -> None:
    """Index the default order, then the id; read backwards, it serves the other direction."""
    Index(short_name("ix", model.table, "order"), *_tenant(made), *_order(made, model), **_living(model))


def _order(made: Table, model: EntityModel) -> list[Column[Any]]:
    name = model.declaration.sort.removeprefix("-")
    return [_ordered(made, model, key) for key in dict.fromkeys((name, "id"))]


def _add_index(made: Table, model: EntityModel, index: DeclaredIndex) -> None:
    """Add a declared index on the tenant's live rows, with the id last for page order."""
    keys = [_ordered(made, model, key) for key in dict.fromkeys((*index.fields, "id"))]
    # "by" distinguishes it from the index of a reference.
    Index(short_name("ix", model.table, "by", *index.fields), *_tenant(made), *keys, **_living(model))


def _add_index_of_owner(made: Table, model: EntityModel, rule: Mine) -> None:
    """Index a user's live rows in the entity's default order."""
    keys = dict.fromkeys((made.c[rule.field], *_order(made, model)))
    Index(short_name("ix", model.table, "own", rule.field), *_tenant(made), *keys, **_living(model))


def _ordered(made: Table, model: EntityModel, name: str) -> Column[Any]:
    return made.c[ordered_name(model, model.by_name[name])]


def _living(model: EntityModel) -> dict[str, Any]:
    return {"postgresql_where": text(LIVING)} if is_soft(model) else {}


def _tenant(made: Table) -> list[Column[Any]]:
    return [made.c.tenant_id] if "tenant_id" in made.c else []
