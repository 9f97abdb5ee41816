"""JSON of a row, equal to PostgreSQL's except for white space."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Context, Decimal

import msgspec
from msgspec import Raw

from domain.entities.declaration import EntityModel, FieldModel

Object = dict[str, object]

_ENCODER = msgspec.json.Encoder(decimal_format="number")
_WIDE = Context(prec=1_000)


def json_object(model: EntityModel, row: Mapping[str, object], fields: Sequence[str], *, shows_tenant: bool) -> Object:
    """Return the fields of a row in the model's order; with ``shows_tenant``, ``tenantId`` follows the id."""
    body = {field.wire: _value(field, row[field.name]) for field in model.fields if field.name in fields}
    if shows_tenant and model.tenant_owned and "tenantId" not in body:
        return {"id": body.pop("id"), "tenantId": row["tenant_id"], **body}
    return body


def encoded(value: object) -> Raw:
    return Raw(_ENCODER.encode(value))


def _value(field: FieldModel, value: object) -> object:
    # PostgreSQL writes times with six digits, and decimals with their scale.
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal) and field.money is not None:
        rounded = value.quantize(Decimal(1).scaleb(-field.money.scale), context=_WIDE)
        # PostgreSQL writes zero without a sign.
        return Raw(f"{rounded or rounded.copy_abs():f}".encode())
    return value
