"""A row as its answer's JSON, byte for byte what the database would have made of it but for blanks."""

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
    """``fields`` in the order of the model; where rows of every tenant are read ``tenantId`` follows the id."""
    shown = {one.wire: _value(one, row[one.name]) for one in model.fields if one.name in fields}
    if shows_tenant and model.tenant_owned and "tenantId" not in shown:
        return {"id": shown.pop("id"), "tenantId": row["tenant_id"], **shown}
    return shown


def encoded(value: object) -> Raw:
    return Raw(_ENCODER.encode(value))


def _value(one: FieldModel, value: object) -> object:
    """Times with six digits and ``Z``, decimals with their scale."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal) and one.money is not None:
        return Raw(f"{value.quantize(Decimal(1).scaleb(-one.money.scale), context=_WIDE):f}".encode())
    return value
