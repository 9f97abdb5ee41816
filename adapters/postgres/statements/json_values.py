"""The columns of a row's answer as Core expressions, in the form that their JSON has.

The connection hands a value of the type json over as ``msgspec.Raw``, untouched.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import JSON, TIMESTAMP

from adapters.postgres.statements.compiled import constant
from adapters.postgres.statements.rows import Value
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.kinds import Kind

PLAIN_SCALE = 6
"""Most digits behind the point with which Python writes small decimals without an exponent."""

Column = tuple[str, Value]
"""A JSON name and the expression of its value."""

_UTC: Value = sa.literal_column("interval '0'")
_PICTURE = constant('YYYY-MM-DD"T"HH24:MI:SS.US"Z"', sa.Text())
_BLANK, _T, _QUOTE = constant(" ", sa.Text()), constant("T", sa.Text()), constant('"', sa.Text())
_Z, _NO_FRACTION = constant("Z", sa.Text()), constant(".000000Z", sa.Text())
_TO_SECONDS = TIMESTAMP(timezone=True, precision=0)
_TO_FIVE_DIGITS = TIMESTAMP(timezone=True, precision=5)


def json_columns(
    model: EntityModel, rows: FromClause, fields: Sequence[str] | None = None, *, shows_tenant: bool = False
) -> list[Column]:
    """The answer's fields in order. ``fields`` are Python names (None: every field); the id is always among them.

    ``shows_tenant`` is for rows of every tenant: their ``tenantId`` comes right after the id.
    """
    chosen = [field for field in model.fields if fields is None or field.name == "id" or field.name in fields]
    columns = [(field.wire, json_value(field, rows.c[field.name])) for field in chosen]
    if shows_tenant and model.tenant_owned and "tenant_id" not in {field.name for field in chosen}:
        columns.insert(1, ("tenantId", rows.c.tenant_id))
    return columns


def json_value(field: FieldModel, column: Value) -> Value:
    """The JSON of a value: the same bytes whether the server writes it into an object or the row encoder does."""
    # the driver hands a decimal without digits behind the point over with an exponent, once it ends in zeros
    if field.money is not None and not 0 < field.money.scale <= PLAIN_SCALE:
        return func.to_json(column)
    return SHOWN_KINDS[field.kind].member(column)


def moment(column: Value) -> Value:
    """UTC with six digits and ``Z``: ``2026-01-31T08:00:00.000000Z``."""
    clock = column.op("AT TIME ZONE")(_UTC)
    # the server's own output is the fastest by far, but leaves zeros at the end away: rounding tells where there are
    # some, and costs less than extracting the microseconds
    text = func.replace(sa.cast(clock, sa.Text()), _BLANK, _T, type_=sa.Text())
    return sa.case(
        (sa.cast(column, _TO_FIVE_DIGITS) != column, text.concat(_Z)),
        (sa.cast(column, _TO_SECONDS) != column, func.to_char(clock, _PICTURE)),
        else_=text.concat(_NO_FRACTION),
    )


def _as_it_is(value: Value) -> Value:
    return value


def _text(value: Value) -> Value:
    return sa.cast(value, sa.Text())


def json_text(value: Value) -> Value:
    return sa.cast(func.to_json(value), sa.Text())


def _in_quotes(value: Value) -> Value:
    return _QUOTE.concat(value).concat(_QUOTE)


def _truth(value: Value) -> Value:
    return sa.case((value, constant("true")), (sa.not_(value), constant("false")))


class ShownKind(Struct, frozen=True):
    """Values of a kind as expressions over their column.

    ``member`` is what the row encoder or ``row_to_json`` makes JSON of. ``cell`` is that of a file, as text or what
    becomes it. ``json`` is JSON as text, which takes half the time of ``row_to_json``.
    """

    member: Callable[[Value], Value]
    cell: Callable[[Value], Value]
    json: Callable[[Value], Value]


SHOWN_KINDS: Mapping[Kind, ShownKind] = {
    Kind.TEXT: ShownKind(_as_it_is, _as_it_is, json_text),
    Kind.INTEGER: ShownKind(_as_it_is, _as_it_is, _text),
    Kind.BIG_INTEGER: ShownKind(_as_it_is, _as_it_is, _text),
    Kind.DECIMAL: ShownKind(_as_it_is, _as_it_is, _text),
    Kind.FLOAT: ShownKind(func.to_json, _as_it_is, json_text),
    Kind.BOOLEAN: ShownKind(_as_it_is, _truth, _truth),
    Kind.TIMESTAMP: ShownKind(moment, moment, lambda value: _in_quotes(moment(value))),
    Kind.DATE: ShownKind(_text, lambda value: func.to_char(value, constant("YYYY-MM-DD")), json_text),
    Kind.UUID: ShownKind(_as_it_is, _as_it_is, _in_quotes),
    Kind.CHOICE: ShownKind(_as_it_is, _as_it_is, json_text),
    Kind.UUIDS: ShownKind(_as_it_is, func.array_to_json, json_text),
    Kind.TEXTS: ShownKind(_as_it_is, func.array_to_json, json_text),
}


def json_object(columns: Iterable[Column], rows: FromClause) -> Value:
    """One JSON object of expressions over ``rows``, without blanks, its keys in the order of ``columns``."""
    members = sa.select(*(value.label(name) for name, value in columns)).correlate(rows).subquery("o")
    return sa.select(func.row_to_json(members.table_valued(), type_=JSON())).scalar_subquery()
