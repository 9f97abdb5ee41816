"""`/api/system/traffic`: requests, errors and times of recent hours."""

import msgspec
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler

from adapters.http.request.responses import NO_STORE, EntityData, entity_data
from adapters.http.request.rules import ORDINARY, operation, super_admin
from adapters.http.request.strict_request import StrictRequest
from application.operations.traffic import Traffic, TrafficReport
from domain.parts.operations import READ_SYSTEM

TEXT = """A point for each minute in which requests came, up to six hours back; `errors` are answers from 500 on, \
`refused` those of limits (429). Times are milliseconds, null without a request, and as exact as the buckets of \
`/metrics`. Health checks and `/metrics` itself do not count. All workers of one machine are added up; after a restart \
the points begin anew."""


def traffic_handler(traffic: Traffic) -> HTTPRouteHandler:
    @get(
        "/api/system/traffic",
        **operation(
            "system.traffic",
            "Tell the requests of the last hours",
            super_admin(READ_SYSTEM),
            limit=ORDINARY,
            area="B",
            any_query=False,
        ),
        description=TEXT,
        tags=["system"],
    )
    async def traffic_report(request: StrictRequest) -> Response[EntityData[TrafficReport]]:
        return entity_data(request, msgspec.json.encode(traffic.report()), headers=NO_STORE)

    return traffic_report
