"""All tables: those of identity, and one per entity, derived from its declaration."""

from decimal import Decimal
from enum import Enum
from typing import Any

from msgspec import UNSET
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

from adapters.postgres.schema.identity import NAMES, add_identity
from adapters.postgres.schema.rows import add_row_tables
from adapters.postgres.schema.sql import (
    CODE_POINTS,
    DELETED_WITH,
    is_soft,
    short_name,
    sql_literal,
    unique_name,
    without_case,
)
from domain.entities.declaration import EntityModel, FieldModel, Kind, Registry, Unique
from domain.entities.registry import DeclarationError

LIVING = "NOT is_deleted"

_TYPES: dict[Kind, type[TypeEngine[Any]]] = {
    Kind.INTEGER: Integer,
    Kind.BIG_INTEGER: BigInteger,
    Kind.FLOAT: Double,
    Kind.BOOLEAN: Boolean,
    Kind.DATE: Date,
    Kind.UUID: Uuid,
}


def metadata_for(registry: Registry) -> MetaData:
    metadata = MetaData(naming_convention=NAMES)
    add_identity(metadata)
    add_row_tables(metadata)
    own = set(metadata.tables)
    if taken := [
        f"{model.name}: {model.plural!r} is a table of the service itself" for model in registry if model.table in own
    ]:
        raise DeclarationError(taken)
    for model in registry:
        table(model, metadata, registry)
    return metadata


def table(model: EntityModel, metadata: MetaData, registry: Registry) -> Table:
    """Rows of tenants have the key (tenant_id, id), which every reference to them carries whole."""
    owner = [Column("tenant_id", Uuid(), primary_key=True)] if model.tenant_owned else []
    columns = [_column(one) for one in model.fields if one.name != "tenant_id"]
    taken_along = [Column(DELETED_WITH, Uuid())] if is_soft(model) else []
    made = Table(model.table, metadata, *owner, *columns, *taken_along)
    for one in model.fields:
        if one.reference is not None:
            target = registry[one.reference.target]
            _add_reference(made, model, one, target, is_in_ring=_leads_to(registry, target, model))
    for unique in model.unique:
        _add_unique(made, model, unique)
    _add_order(made, model)
    return made


def column_type(one: FieldModel) -> TypeEngine[Any]:
    if one.kind is Kind.TIMESTAMP:
        return DateTime(timezone=True)
    if one.kind is Kind.DECIMAL and one.money is not None:
        return Numeric(one.money.precision, one.money.scale)
    if one.kind is Kind.UUIDS:
        return ARRAY(Uuid())
    if one.kind is Kind.TEXTS:
        return ARRAY(Text(collation=CODE_POINTS))
    if one.kind in (Kind.TEXT, Kind.CHOICE):
        return Text(collation=CODE_POINTS)
    return _TYPES[one.kind]()


def reference_name(model: EntityModel, one: FieldModel) -> str:
    return short_name("fk", model.table, one.name)


def _column(one: FieldModel) -> Column[Any]:
    return Column(
        one.name,
        column_type(one),
        primary_key=one.name == "id",
        nullable=one.nullable,
        server_default=_server_default(one),
    )


def _server_default(one: FieldModel) -> Any:
    """What rows that exist get when the column is added; statements always say the value."""
    if one.name == "is_deleted":
        return text("false")
    value = one.default.value if isinstance(one.default, Enum) else one.default
    if value is UNSET or value is None or not isinstance(value, (str, int, float, Decimal)):
        return None
    return text(str(value).lower() if isinstance(value, bool | int) else sql_literal(str(value)))


def _leads_to(registry: Registry, model: EntityModel, end: EntityModel) -> bool:
    """Whether another entity's references come back to where they began, by however many steps."""
    seen, waiting = {end.plural}, [model] if model is not end else []
    while waiting:
        for one in waiting.pop().fields:
            target = one.reference.target if one.reference is not None else None
            if target == end.plural:
                return True
            if target is not None and target not in seen:
                seen.add(target)
                waiting.append(registry[target])
    return False


def _add_reference(made: Table, model: EntityModel, one: FieldModel, target: EntityModel, *, is_in_ring: bool) -> None:
    """Deletes are decided by statements; what the key refuses is what slipped past them.

    No order of making or purging suits a ring of tables: its keys come last, and can wait for the commit.
    """
    owner = ["tenant_id"] if target.tenant_owned else []
    local, remote = [*owner, one.name], [f"{target.table}.{name}" for name in (*owner, "id")]
    name, waits = reference_name(model, one), is_in_ring or None
    made.append_constraint(ForeignKeyConstraint(local, remote, name=name, use_alter=is_in_ring, deferrable=waits))
    Index(short_name("ix", model.table, one.name), *(made.c[name] for name in local))


def _add_unique(made: Table, model: EntityModel, unique: Unique) -> None:
    keys = [_unique_key(made, model, name, unique) for name in unique.fields]
    Index(unique_name(model, unique), *_tenant(made), *keys, unique=True, **_living(model))


def _unique_key(made: Table, model: EntityModel, name: str, unique: Unique) -> Any:
    if unique.ignore_case and model.by_name[name].kind is Kind.TEXT:
        return literal_column(without_case(name))
    return made.c[name]


def _add_order(made: Table, model: EntityModel) -> None:
    """The default order, ties broken by id; read backwards it is the other direction."""
    name = model.declaration.sort.removeprefix("-")
    keys = [made.c[one] for one in dict.fromkeys((name, "id"))]
    Index(short_name("ix", model.table, "order"), *_tenant(made), *keys, **_living(model))


def _living(model: EntityModel) -> dict[str, Any]:
    return {"postgresql_where": text(LIVING)} if is_soft(model) else {}


def _tenant(made: Table) -> list[Column[Any]]:
    return [made.c.tenant_id] if "tenant_id" in made.c else []
