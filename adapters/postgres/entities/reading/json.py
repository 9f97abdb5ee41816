"""The values of a row's answer in SQL, as its JSON has them; and whole objects where the server is to make them.

The connection hands a value of the type json over as ``msgspec.Raw``, untouched.
"""

from collections.abc import Iterable, Sequence

from domain.entities.declaration import EntityModel, FieldModel, Kind

Column = tuple[str, str]
"""A JSON name and the SQL expression of its value."""

PLAIN_SCALE = 6
"""Python writes decimals of more digits behind the point with an exponent, once they are small; and of none, which the
driver hands over so, once they end in zeros."""

_PICTURE = '\'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\''


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def json_columns(
    model: EntityModel, alias: str, fields: Sequence[str] | None = None, *, shows_tenant: bool = False
) -> list[Column]:
    """The answer's fields in order. ``fields`` are Python names (None: all); the id is always among them.

    ``shows_tenant`` is for rows of every tenant: their ``tenantId`` comes right after the id.
    """
    shown = [one for one in model.fields if fields is None or one.name == "id" or one.name in fields]
    columns = [(one.wire, json_value(one, alias)) for one in shown]
    if shows_tenant and model.tenant_owned and "tenant_id" not in {one.name for one in shown}:
        columns.insert(1, ("tenantId", f"{alias}.tenant_id"))
    return columns


def json_value(one: FieldModel, alias: str) -> str:
    """As the server writes it into an object, and as a column of its own that is encoded here, the same bytes."""
    column = f"{alias}.{quoted(one.name)}"
    if one.kind is Kind.TIMESTAMP:
        return moment(column)
    if one.kind is Kind.DATE:
        return f"{column}::text"
    is_plain = one.money is None or 0 < one.money.scale <= PLAIN_SCALE
    return column if is_plain and one.kind is not Kind.FLOAT else f"to_json({column})"


def moment(column: str) -> str:
    """UTC with six digits and ``Z``. The server's own output, much the fastest, leaves zeros at the end away: the
    moments that end in one are told by rounding them, which costs less than reading a part of them.
    """
    clock = f"{column} AT TIME ZONE interval '0'"
    text = f"replace(({clock})::text, ' ', 'T')"
    return (
        f"CASE WHEN {column}::timestamptz(5) <> {column} THEN {text} || 'Z' "
        f"WHEN {column}::timestamptz(0) <> {column} THEN to_char({clock}, {_PICTURE}) ELSE {text} || '.000000Z' END"
    )


def json_object(columns: Iterable[Column]) -> str:
    """An expression of type json, without blanks, its keys in this order. Includes are further columns."""
    listed = ", ".join(f"{value} AS {quoted(name)}" for name, value in columns)
    return f"(SELECT row_to_json(o) FROM (SELECT {listed}) o)"
