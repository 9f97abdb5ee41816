"""/api/auth/tenants: a tenant of one's own."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import PEOPLE, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.joining.own_tenants import OwnTenantForm, OwnTenants
from domain.identity.users import Tenant
from domain.limits import CREATE_TENANT


class OwnTenantsController(Controller):
    path = "/api/auth/tenants"
    tags = ("auth",)

    @post(
        "/",
        **operation(
            "auth.create-tenant",
            "Make a tenant of one's own",
            PEOPLE,
            "NOT_FOUND",
            "CONFLICT",
            limit=CREATE_TENANT,
            example={"name": "Acme Tools", "identifier": "acme-tools"},
        ),
        description="The caller becomes its owner and Admin. 404 unless the service allows it; three a day.",
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[OwnTenantForm], own_tenants: NamedDependency[OwnTenants]
    ) -> Response[Data[Tenant]]:
        tenant = await own_tenants.create(request.caller, data, request.from_client)
        # GET /api/tenants/{id} is for super-admins: its owner finds the tenant among their own.
        return identity_data(tenant, headers={"location": "/api/auth/me/complete"})
