"""/api/tenants/{id}/users: who belongs to a tenant."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.identity.listing import USER_PARAMETERS
from adapters.http.request.endpoint import Answer, Call, Endpoint, Shown, needs, ordinary_limit
from adapters.http.request.old_responses import data, location, message
from adapters.http.request.paths import id_in
from application.identity.administration.memberships import MemberForm, MembershipAdministration, MembershipItem
from application.identity.administration.user_forms import UserPage


@dataclass(frozen=True)
class MembershipEndpoints:
    memberships: MembershipAdministration

    async def page(self, call: Call) -> Answer:
        tenant_id = id_in(call, "tenant_id")
        return data(await self.memberships.page(call.signed_in, tenant_id, call.parameters()))

    async def save(self, call: Call) -> Answer:
        """201 when the membership was made, 200 when it stood and its roles were replaced."""
        form, tenant_id = call.form(MemberForm), id_in(call, "tenant_id")
        membership, is_new = await self.memberships.save(call.signed_in, tenant_id, form, call.client)
        if not is_new:
            return data(membership)
        return data(membership, 201, (location(f"/api/tenants/{tenant_id}/users"),))

    async def remove(self, call: Call) -> Answer:
        tenant_id, user_id = id_in(call, "tenant_id"), id_in(call, "user_id")
        await self.memberships.remove(call.signed_in, tenant_id, user_id, call.client)
        return message("The user has left the tenant.")


class KeepingMemberships(Protocol):
    @property
    def memberships(self) -> MembershipAdministration: ...


def membership_endpoints(services: KeepingMemberships) -> list[Endpoint]:
    made = MembershipEndpoints(services.memberships)
    return [
        Endpoint(
            method="GET",
            path="/api/tenants/{tenant_id}/users",
            run=made.page,
            policy=needs("read:users"),
            limit=ordinary_limit("tenants.members"),
            area="A",
            operation="tenants.members",
            tag="tenants",
            summary="List who belongs to a tenant",
            shown=(Shown(200, "data", UserPage),),
            parameters=USER_PARAMETERS,
            errors=("VALIDATION_ERROR",),
        ),
        Endpoint(
            method="POST",
            path="/api/tenants/{tenant_id}/users",
            run=made.save,
            policy=needs("update:users"),
            limit=ordinary_limit("tenants.add-member"),
            area="A",
            operation="tenants.add-member",
            tag="tenants",
            summary="Assign a user to a tenant with roles",
            description="200 when the user was in it already: then the roles are replaced.",
            shown=(Shown(201, "data", MembershipItem, ("Location",)), Shown(200, "data", MembershipItem)),
            body=MemberForm,
            errors=("CONFLICT",),
        ),
        Endpoint(
            method="DELETE",
            path="/api/tenants/{tenant_id}/users/{user_id}",
            run=made.remove,
            policy=needs("update:users"),
            limit=ordinary_limit("tenants.remove-member"),
            area="A",
            operation="tenants.remove-member",
            tag="tenants",
            summary="End a membership",
            shown=(Shown(200, "message"),),
            errors=("CONFLICT",),
        ),
    ]
