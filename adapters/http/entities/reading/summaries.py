"""Handler that summarizes an entity's rows."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

import msgspec
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from msgspec import Raw

from adapters.http.entities.served_entity import ServedEntity
from adapters.http.entities.shapes import entity_operation, may_read, shape, typed
from adapters.http.request.body import while_asked_for
from adapters.http.request.responses import entity_data, enveloped, wire_time
from adapters.http.request.strict_request import StrictRequest
from application.entities.reading.summaries import Summarized, Summarizing, SummaryQueries
from application.ports.entities.summaries import Group
from domain.entities.query.summary import Function, Measure, Summary

TEXT = """Counts, sums and other measures of all rows that a list would have, as of one moment. Sums are exact; an \
average has four digits more than its property. A week, month, quarter or year is shown by its first day, in the time \
zone of the tenant. Rows without a value form a group with the key null. A summary that needs more than five seconds \
is refused with 422."""
_WIDE = Context(prec=1_000)


def summary_handler(entity: ServedEntity, summarizing: Summarizing) -> HTTPRouteHandler:
    model = entity.model
    queries = SummaryQueries(model, entity.queries.registry)

    async def summary(request: StrictRequest) -> Response[Any]:
        asked = queries.summary(request.caller, request.parameters())
        reading = summarizing.summarize(entity.scope(request), model, asked)
        return entity_data(request, summary_body(asked, await while_asked_for(request.receive, reading)))

    return get(
        "/summary",
        **entity_operation(
            model,
            "summary",
            "Summarize {}",
            may_read(model),
            "UNPROCESSABLE_ENTITY",
            parameters=entity.parameters.summary,
        ),
        description=TEXT,
    )(typed(summary, enveloped(shape(f"{model.name}SummaryData"))))


def summary_body(summary: Summary, found: Summarized) -> bytes:
    names = [group.name for group in summary.groups]
    groups = [_group(names, summary.measures, group) for group in found.groups]
    return msgspec.json.encode({"groups": groups, "truncated": found.is_truncated, "timeZone": found.zone})


def _group(names: Sequence[str], measures: Sequence[Measure], group: Group) -> Mapping[str, object]:
    body: dict[str, Any] = {"key": dict(zip(names, map(_shown, group.key), strict=True))}
    for measure, value in zip(measures, group.values, strict=True):
        if measure.function is Function.COUNT:
            body["count"] = value
        else:
            body.setdefault(measure.function.value, {})[measure.name] = _shown(value, measure.scale)
    return body


def _shown(value: object, scale: int | None = None) -> object:
    """Return the value as in rows: decimals with their scale, moments in UTC. NaN and infinity become null."""
    match value:
        case Decimal():
            exact = value.quantize(Decimal(1).scaleb(-(scale or 0)), context=_WIDE)
            # PostgreSQL writes zero without a sign.
            return Raw(f"{exact or exact.copy_abs():f}".encode())
        case datetime():
            return wire_time(value)
        case date():
            return value.isoformat()
        case _:
            return value
