"""/api/tenants: transferring and leaving a tenant, and setting its owners; /api/auth/tenants: creating a tenant."""

from datetime import timedelta

from litestar import Controller, Response, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import PEOPLE, Policy, action, operation, super_admin
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.joining.own_tenants import OwnTenantForm, OwnTenants
from application.identity.joining.ownership import OwnerForm, OwnerItem, Ownership, TransferForm
from domain.identity.users import Tenant
from domain.limits import Limit

CREATE_TENANT = Limit("create-tenant", 10, timedelta(days=1))
"""Rate limit on attempts to create a tenant, including failed attempts. The limit on owned tenants does not count
tenants that the user has transferred.
"""


class OwnershipController(Controller):
    path = "/api/tenants"
    tags = ("tenants",)

    @post(
        "/current/transfer",
        **action("tenants.transfer", "Pass one's tenant on", Policy("tenant", recent=True, people=True), "CONFLICT"),
        description="For owners: an active member becomes the owner in their place. The tenant keeps an owner with the "
        "role Admin, so give it to the member first. Both are told by mail.",
    )
    async def transfer(
        self, request: StrictRequest, data: JSONBody[TransferForm], ownership: NamedDependency[Ownership]
    ) -> Response[MessageOnly]:
        await ownership.transfer(request.caller, data, request.from_client)
        return identity_message("The tenant is transferred.")

    @post(
        "/current/leave",
        **action("tenants.leave", "Leave the tenant", Policy("tenant", people=True), "NOT_FOUND", "CONFLICT"),
        description="The last owner and the last active Admin stay. Takes no body; the token is stale afterwards.",
    )
    async def leave(self, request: StrictRequest, ownership: NamedDependency[Ownership]) -> Response[MessageOnly]:
        await ownership.leave(request.caller, request.from_client)
        return identity_message("You have left the tenant.")

    @put(
        "/{tenant_id:str}/users/{user_id:str}",
        **operation(
            "tenants.set-owner",
            "Make a member an owner, or one no more",
            super_admin("update:users", recent=True, people=True),
            "CONFLICT",
        ),
        description="A tenant with owners keeps at least one.",
    )
    async def set_owner(
        self,
        request: StrictRequest,
        tenant_id: PathId,
        user_id: PathId,
        data: JSONBody[OwnerForm],
        ownership: NamedDependency[Ownership],
    ) -> Response[Data[OwnerItem]]:
        tenant, user = read_id(tenant_id), read_id(user_id)
        return identity_data(await ownership.set_owner(request.caller, tenant, user, data, request.from_client))


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
        # Only super-admins may read /api/tenants/{id}. An owner reads the list of own tenants.
        return identity_data(tenant, headers={"location": "/api/auth/me/complete"})
