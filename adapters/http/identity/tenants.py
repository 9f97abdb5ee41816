"""/api/tenants: the tenants themselves."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.identity.listing import LIST_PARAMETERS
from adapters.http.request.endpoint import (
    ANY_TOKEN,
    Answer,
    Call,
    Endpoint,
    Parameter,
    Shown,
    ordinary_limit,
    super_admin,
)
from adapters.http.request.old_responses import data, location, message
from adapters.http.request.paths import id_in
from application.identity.administration.tenant_forms import NewTenantForm, TenantForm, TenantPage
from application.identity.administration.tenants import TenantAdministration
from domain.identity.tenants import Tenant


@dataclass(frozen=True)
class TenantEndpoints:
    tenants: TenantAdministration

    async def page(self, call: Call) -> Answer:
        return data(await self.tenants.page(call.parameters()))

    async def current(self, call: Call) -> Answer:
        return data(await self.tenants.current(call.signed_in))

    async def get(self, call: Call) -> Answer:
        return data(await self.tenants.get(id_in(call, "tenant_id")))

    async def create(self, call: Call) -> Answer:
        form = call.form(NewTenantForm)
        tenant = await self.tenants.create(call.signed_in, form, call.client)
        return data(tenant, 201, (location(f"/api/tenants/{tenant.id}"),))

    async def update(self, call: Call) -> Answer:
        form, tenant_id = call.form(TenantForm), id_in(call, "tenant_id")
        return data(await self.tenants.update(call.signed_in, tenant_id, form, call.client))

    async def delete(self, call: Call) -> Answer:
        await self.tenants.delete(call.signed_in, id_in(call, "tenant_id"), call.client)
        return message("The tenant is deleted.")


class KeepingTenants(Protocol):
    @property
    def tenants(self) -> TenantAdministration: ...


def tenant_endpoints(services: KeepingTenants) -> list[Endpoint]:
    made = TenantEndpoints(services.tenants)
    return [*_reading(made), *_writing(made)]


def _reading(made: TenantEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/api/tenants",
            run=made.page,
            policy=super_admin("read:tenants"),
            limit=ordinary_limit("tenants.page"),
            area="A",
            operation="tenants.page",
            tag="tenants",
            summary="List tenants",
            shown=(Shown(200, "data", TenantPage),),
            parameters=(*LIST_PARAMETERS, Parameter("isActive", {"type": "boolean"})),
            errors=("VALIDATION_ERROR",),
        ),
        Endpoint(
            method="GET",
            path="/api/tenants/{tenant_id}",
            run=made.get,
            policy=super_admin("read:tenants"),
            limit=ordinary_limit("tenants.get"),
            area="A",
            operation="tenants.get",
            tag="tenants",
            summary="Read a tenant",
            shown=(Shown(200, "data", Tenant),),
        ),
        Endpoint(
            method="GET",
            path="/api/tenants/current",
            run=made.current,
            policy=ANY_TOKEN,
            limit=ordinary_limit("tenants.current"),
            area="A",
            operation="tenants.current",
            tag="tenants",
            summary="Read the tenant of the token",
            shown=(Shown(200, "data", Tenant),),
            errors=("NOT_FOUND",),
        ),
    ]


def _writing(made: TenantEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="POST",
            path="/api/tenants",
            run=made.create,
            policy=super_admin("create:tenants"),
            limit=ordinary_limit("tenants.create"),
            area="A",
            operation="tenants.create",
            tag="tenants",
            summary="Create a tenant",
            shown=(Shown(201, "data", Tenant, ("Location",)),),
            body=NewTenantForm,
            errors=("CONFLICT",),
        ),
        Endpoint(
            method="PUT",
            path="/api/tenants/{tenant_id}",
            run=made.update,
            policy=super_admin("update:tenants"),
            limit=ordinary_limit("tenants.update"),
            area="A",
            operation="tenants.update",
            tag="tenants",
            summary="Change a tenant",
            description="Fields sent change, fields left out stay. With `isActive: false` its tokens die at once.",
            shown=(Shown(200, "data", Tenant),),
            body=TenantForm,
            errors=("CONFLICT",),
        ),
        Endpoint(
            method="DELETE",
            path="/api/tenants/{tenant_id}",
            run=made.delete,
            policy=super_admin("delete:tenants"),
            limit=ordinary_limit("tenants.delete"),
            area="A",
            operation="tenants.delete",
            tag="tenants",
            summary="Delete a tenant",
            shown=(Shown(200, "message"),),
            errors=("CONFLICT",),
        ),
    ]
