"""`/api/system`: the state of the service, for super-admins."""

import msgspec
from litestar import Response, Router, get

from adapters.http.request.responses import NO_STORE, EntityData, entity_data
from adapters.http.request.rules import ORDINARY, operation, rules, super_admin
from adapters.http.request.strict_request import StrictRequest
from application.operations.system_reports import SystemReport, SystemReports
from domain.parts.operations import READ_SYSTEM

TEXT = """Version, whether database and Redis answer this process, the number of waiting mails, the latest mails that \
were given up, the keys of tokens and encrypted passwords, the last results of background jobs and of \
`tenantry backup`, and every setting with its source. Of secrets it tells whether they are set, not what they are."""


def system_router(reports: SystemReports) -> Router:
    @get(
        "/",
        **operation("system.report", "Tell the state of the service", super_admin(READ_SYSTEM)),
        description=TEXT,
    )
    async def report(request: StrictRequest) -> Response[EntityData[SystemReport]]:
        return entity_data(request, msgspec.json.encode(await reports.report()), headers=NO_STORE)

    opt = rules(area="B", limit=ORDINARY, any_query=False)
    return Router("/api/system", route_handlers=[report], tags=["system"], opt=opt)
