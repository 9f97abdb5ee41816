"""/api/tenants: the tenants themselves."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.identity.administration.listing import IS_ACTIVE, LIST_PARAMETERS
from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import ANY_TOKEN, action, operation, super_admin
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.administration.tenant_forms import NewTenantForm, TenantForm, TenantPage
from application.identity.administration.tenants import TenantAdministration
from domain.identity.users import Tenant

Tenants: TypeAlias = NamedDependency[TenantAdministration]


class TenantsController(Controller):
    path = "/api/tenants"
    tags = ("tenants",)

    @get(
        "/",
        **operation(
            "tenants.page", "List tenants", super_admin("read:tenants"), parameters=(*LIST_PARAMETERS, IS_ACTIVE)
        ),
    )
    async def page(self, request: StrictRequest, tenants: Tenants) -> Response[Data[TenantPage]]:
        return identity_data(await tenants.page(request.parameters()))

    # Litestar prefers this path to /{tenant_id}, so ``current`` is not read as an id.
    @get("/current", **operation("tenants.current", "Read the tenant of the token", ANY_TOKEN, "NOT_FOUND"))
    async def current(self, request: StrictRequest, tenants: Tenants) -> Response[Data[Tenant]]:
        return identity_data(await tenants.current(request.caller))

    @get("/{tenant_id:str}", **operation("tenants.get", "Read a tenant", super_admin("read:tenants")))
    async def read(self, tenant_id: PathId, tenants: Tenants) -> Response[Data[Tenant]]:
        return identity_data(await tenants.get(read_id(tenant_id)))

    @post(
        "/",
        **operation("tenants.create", "Create a tenant", super_admin("create:tenants"), "CONFLICT"),
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[NewTenantForm], tenants: Tenants
    ) -> Response[Data[Tenant]]:
        tenant = await tenants.create(request.caller, data, request.from_client)
        return identity_data(tenant, headers={"location": f"/api/tenants/{tenant.id}"})

    @put(
        "/{tenant_id:str}",
        **operation("tenants.update", "Change a tenant", super_admin("update:tenants"), "CONFLICT"),
        description="Fields sent change, fields left out stay. With `isActive: false` its tokens die at once.",
    )
    async def update(
        self, request: StrictRequest, tenant_id: PathId, data: JSONBody[TenantForm], tenants: Tenants
    ) -> Response[Data[Tenant]]:
        return identity_data(await tenants.update(request.caller, read_id(tenant_id), data, request.from_client))

    @delete(
        "/{tenant_id:str}",
        **action("tenants.delete", "Delete a tenant", super_admin("delete:tenants"), "CONFLICT"),
    )
    async def remove(self, request: StrictRequest, tenant_id: PathId, tenants: Tenants) -> Response[MessageOnly]:
        await tenants.delete(request.caller, read_id(tenant_id), request.from_client)
        return identity_message("The tenant is deleted.")
