"""/api/tenants: passing a tenant on, leaving it, and setting its owners."""

from litestar import Controller, Response, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import Policy, action, operation, super_admin
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.joining.ownership import OwnerForm, OwnerItem, Ownership, TransferForm


class OwnershipController(Controller):
    path = "/api/tenants"
    tags = ("tenants",)

    @post(
        "/current/transfer",
        **action("tenants.transfer", "Pass one's tenant on", Policy("tenant", recent=True, people=True)),
        description="For owners: an active member becomes the owner in their place. Both are told by mail.",
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
            "tenants.set-owner", "Make a member an owner, or one no more", super_admin("update:users"), "CONFLICT"
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
