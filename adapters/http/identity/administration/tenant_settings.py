"""/api/tenants/current/settings: the settings of the caller's tenant."""

from typing import TypeAlias

from litestar import Controller, Response, get, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import needs, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.administration.tenant_settings import (
    OwnSettings,
    OwnSettingsForm,
    TenantSettingsAdministration,
)

Settings: TypeAlias = NamedDependency[TenantSettingsAdministration]


class TenantSettingsController(Controller):
    path = "/api/tenants/current/settings"
    tags = ("tenants",)

    @get(
        "/",
        **operation("tenants.settings", "Read the tenant's settings", needs("read:tenant-settings"), "NOT_FOUND"),
    )
    async def settings(self, request: StrictRequest, tenant_settings: Settings) -> Response[Data[OwnSettings]]:
        return identity_data(await tenant_settings.get(request.caller))

    @put(
        "/",
        **operation(
            "tenants.update-settings", "Change the tenant's settings", needs("update:tenant-settings"), "NOT_FOUND"
        ),
        description="Fields sent change, fields left out stay. Features are for super-admins to change.",
    )
    async def update_settings(
        self, request: StrictRequest, data: JSONBody[OwnSettingsForm], tenant_settings: Settings
    ) -> Response[Data[OwnSettings]]:
        return identity_data(await tenant_settings.update(request.caller, data, request.from_client))
