"""/api/tenants/{id}/users: the members of a tenant."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import JSONBody

from adapters.http.identity.administration.listing import USER_PARAMETERS
from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.administration.memberships import (
    MemberForm,
    MemberPage,
    MembershipAdministration,
    MembershipItem,
)

REPLACED = {200: ResponseSpec(Data[MembershipItem], generate_examples=False)}
Memberships: TypeAlias = NamedDependency[MembershipAdministration]


class MembershipsController(Controller):
    # :str, so that a malformed id passes token, limit and permission checks before the 404
    path = "/api/tenants/{tenant_id:str}/users"
    tags = ("tenants",)

    @get(
        "/",
        **operation("tenants.members", "List who belongs to a tenant", needs("read:users"), parameters=USER_PARAMETERS),
    )
    async def page(
        self, request: StrictRequest, tenant_id: PathId, memberships: Memberships
    ) -> Response[Data[MemberPage]]:
        return identity_data(await memberships.page(request.caller, read_id(tenant_id), request.parameters()))

    @post(
        "/",
        **operation("tenants.add-member", "Assign a user to a tenant with roles", needs("update:users"), "CONFLICT"),
        description="200 when the user was in it already. If `roles` is sent, it replaces the member's roles; "
        "if it is left out, they stay.",
        responses=REPLACED,
    )
    async def save(
        self, request: StrictRequest, tenant_id: PathId, data: JSONBody[MemberForm], memberships: Memberships
    ) -> Response[Data[MembershipItem]]:
        in_tenant = read_id(tenant_id)
        membership, is_new = await memberships.save(request.caller, in_tenant, data, request.from_client)
        if not is_new:
            return identity_data(membership, 200)
        # a membership has no separate path
        return identity_data(membership, headers={"location": f"/api/tenants/{in_tenant}/users"})

    @delete(
        "/{user_id:str}",
        **action("tenants.remove-member", "End a membership", needs("update:users"), "CONFLICT"),
    )
    async def remove(
        self, request: StrictRequest, tenant_id: PathId, user_id: PathId, memberships: Memberships
    ) -> Response[MessageOnly]:
        await memberships.remove(request.caller, read_id(tenant_id), read_id(user_id), request.from_client)
        return identity_message("The user has left the tenant.")
