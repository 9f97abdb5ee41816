"""/api/auth/me/export: everything that is stored about the caller."""

from litestar import Controller, Response, get
from litestar.di import NamedDependency

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import Policy, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.personal_export import PersonalExport
from application.ports.identity.personal_data import PersonalData
from domain.limits import PERSONAL_EXPORT


class PersonalDataController(Controller):
    path = "/api/auth/me/export"
    tags = ("auth",)

    @get(
        "/",
        **operation(
            "auth.export-me",
            "Export everything that is stored about oneself",
            Policy("any", recent=True, people=True),
            limit=PERSONAL_EXPORT,
        ),
        description="Without secrets, and without rows of entities, which belong to their tenants.",
    )
    async def export(
        self, request: StrictRequest, personal_export: NamedDependency[PersonalExport]
    ) -> Response[Data[PersonalData]]:
        return identity_data(await personal_export.of(request.caller))
