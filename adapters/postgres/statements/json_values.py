"""SQL expressions for the columns of a response's row, in their JSON form.

The connection returns values of the type json unchanged as ``msgspec.Raw``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy import FromClause, func
from sqlalchemy.dialects.postgresql import JSON, TIMESTAMP

from adapters.postgres.statements.compiled import constant
from adapters.postgres.statements.rows import Value
from domain.entities.declaration import EntityModel, FieldModel
from domain.entities.kinds import Kind

PLAIN_SCALE = 6
"""Maximum digits after the point for which Python writes small decimals without an exponent."""

Column = tuple[str, Value]
"""A JSON name and its value's expression."""

_UTC: Value = sa.literal_column("interval '0'")
_PICTURE = constant('YYYY-MM-DD"T"HH24:MI:SS.US"Z"', sa.Text())
_BLANK, _T, _QUOTE = constant(" ", sa.Text()), constant("T", sa.Text()), constant('"', sa.Text())
_Z, _NO_FRACTION = constant("Z", sa.Text()), constant(".000000Z", sa.Text())
_TO_SECONDS = TIMESTAMP(timezone=True, precision=0)
_TO_FIVE_DIGITS = TIMESTAMP(timezone=True, precision=5)


def json_columns(
    model: EntityModel,
    rows: FromClause,
    fields: Sequence[str] | None = None,
    *,
    shows_tenant: bool = False,
    links: Mapping[str, Value] = MappingProxyType({}),
) -> list[Column]:
    """Return the fields of the response in order. ``fields`` are Python names (None: all); the id is always included.

    With ``shows_tenant``, for rows of every tenant, ``tenantId`` follows the id. ``links`` are values of fields without
    a column in ``rows``.
    """
    chosen = [field for field in model.fields if fields is None or field.name == "id" or field.name in fields]
    columns = [
        (field.wire, json_value(field, links[field.name] if field.name in links else rows.c[field.name]))
        for field in chosen
    ]
    if shows_tenant and model.tenant_owned and "tenant_id" not in {field.name for field in chosen}:
        columns.insert(1, ("tenantId", rows.c.tenant_id))
    return columns


def json_value(field: FieldModel, column: Value) -> Value:
    """Return the SQL expression for a value as JSON. PostgreSQL and the service's row encoder write the same bytes."""
    # The driver returns a decimal that has no fraction and ends in zeros with an exponent, so PostgreSQL writes its
    # JSON.
    if field.money is not None and not 0 < field.money.scale <= PLAIN_SCALE:
        return func.to_json(column)
    return SHOWN_KINDS[field.kind].member(column)


def moment(column: Value) -> Value:
    """Format a time in UTC with six digits and ``Z``: ``2026-01-31T08:00:00.000000Z``."""
    clock = column.op("AT TIME ZONE")(_UTC)
    # PostgreSQL's own output is fastest but omits trailing zeros. Rounding detects these, at less cost than extracting
    # microseconds.
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


def _day(value: Value) -> Value:
    # For a date this costs nothing. An old process also reads a column that a migration has made a timestamp.
    return sa.cast(value, sa.Date())


def json_text(value: Value) -> Value:
    return sa.cast(func.to_json(value), sa.Text())


def _in_quotes(value: Value) -> Value:
    return _QUOTE.concat(value).concat(_QUOTE)


def _truth(value: Value) -> Value:
    return sa.case((value, constant("true")), (sa.not_(value), constant("false")))


class ShownKind(Struct, frozen=True):
    """Values of a kind as expressions over their column.

    ``member`` is the input for JSON from the row encoder or ``row_to_json``. ``cell`` is the value in a file, as text
    or convertible to text. ``json`` is JSON as text, twice as fast as ``row_to_json``.
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
    Kind.DATE: ShownKind(
        lambda value: _text(_day(value)),
        lambda value: func.to_char(value, constant("YYYY-MM-DD")),
        lambda value: json_text(_day(value)),
    ),
    Kind.UUID: ShownKind(_as_it_is, _as_it_is, _in_quotes),
    Kind.CHOICE: ShownKind(_as_it_is, _as_it_is, json_text),
    Kind.UUIDS: ShownKind(_as_it_is, func.array_to_json, json_text),
    Kind.TEXTS: ShownKind(_as_it_is, func.array_to_json, json_text),
    Kind.LINKS: ShownKind(_as_it_is, func.array_to_json, json_text),
}


def json_object(columns: Iterable[Column], rows: FromClause) -> Value:
    """Return a JSON object of expressions over ``rows``, without blanks, with keys in the order of ``columns``."""
    members = sa.select(*(value.label(name) for name, value in columns)).correlate(rows).subquery("o")
    return sa.select(func.row_to_json(members.table_valued(), type_=JSON())).scalar_subquery()
