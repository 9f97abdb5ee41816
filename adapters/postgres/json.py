"""A row as its answer's JSON, made by the server: one SQL expression for reads and for what writes return.

The connection hands a value of the type json over as ``msgspec.Raw``, untouched.
"""

from collections.abc import Iterable, Sequence

from domain.entity import EntityModel, FieldModel, Kind

Column = tuple[str, str]
"""A JSON name and the SQL expression of its value."""

_UTC = '\'YYYY-MM-DD"T"HH24:MI:SS.US"Z"\''


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
    """Times are UTC with six digits and ``Z``; all else is written by the server as JSON has it."""
    column = f"{alias}.{quoted(one.name)}"
    return f"to_char({column} AT TIME ZONE 'UTC', {_UTC})" if one.kind is Kind.TIMESTAMP else column


def json_object(columns: Iterable[Column]) -> str:
    """An expression of type json, without blanks, its keys in this order. Includes are further columns."""
    listed = ", ".join(f"{value} AS {quoted(name)}" for name, value in columns)
    return f"(SELECT row_to_json(o) FROM (SELECT {listed}) o)"
