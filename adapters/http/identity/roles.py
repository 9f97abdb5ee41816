"""/api/roles and /api/permissions."""

from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import LOCATION, Data, MessageOnly, bare, identity_data, identity_message
from adapters.http.request.rules import ORDINARY, needs, rules, super_admin
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.administration.roles import (
    PermissionForm,
    PermissionList,
    RoleAdministration,
    RoleChange,
    RoleForm,
    RoleItem,
    RoleList,
)
from domain.scope import Permission


class RolesController(Controller):
    path = "/api/roles"
    tags = ("roles",)
    opt = rules(area="A", limit=ORDINARY)

    @get(
        "/",
        name="roles.all",
        summary="List the roles of the tenant and the system's",
        opt=rules(policy=needs("read:roles")),
    )
    async def all(self, request: StrictRequest, roles: NamedDependency[RoleAdministration]) -> Response[RoleList]:
        return bare(await roles.all(request.caller))

    @post(
        "/",
        name="roles.create",
        summary="Create a role",
        description="It belongs to the caller's tenant; nobody gives away a permission they do not hold.",
        response_headers=[LOCATION],
        opt=rules(policy=needs("create:roles"), errors=("CONFLICT",)),
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[RoleForm], roles: NamedDependency[RoleAdministration]
    ) -> Response[Data[RoleItem]]:
        role = await roles.create(request.caller, data, request.from_client)
        return identity_data(role, headers={"location": f"/api/roles/{role.id}"})

    @put(
        "/{role_id:str}",  # and not :uuid: a malformed id passes token, limit and permission before it is a 404
        name="roles.update",
        summary="Change a role",
        description="Tokens of its holders must be refreshed afterwards.",
        opt=rules(policy=needs("update:roles"), errors=("CONFLICT",)),
    )
    async def update(
        self,
        request: StrictRequest,
        role_id: PathId,
        data: JSONBody[RoleChange],
        roles: NamedDependency[RoleAdministration],
    ) -> Response[Data[RoleItem]]:
        return identity_data(await roles.update(request.caller, read_id(role_id), data, request.from_client))

    @delete(
        "/{role_id:str}",
        name="roles.delete",
        # and not 204, which has no body: a message is answered
        status_code=200,
        summary="Delete a role that nobody holds",
        opt=rules(policy=needs("delete:roles"), errors=("CONFLICT",)),
    )
    async def remove(
        self, request: StrictRequest, role_id: PathId, roles: NamedDependency[RoleAdministration]
    ) -> Response[MessageOnly]:
        await roles.delete(request.caller, read_id(role_id), request.from_client)
        return identity_message("The role is deleted.")


class PermissionsController(Controller):
    path = "/api/permissions"
    tags = ("permissions",)
    opt = rules(area="A", limit=ORDINARY)

    @get(
        "/",
        name="permissions.all",
        summary="List the permissions that roles may hold",
        opt=rules(policy=needs("read:permissions")),
    )
    async def all(self, roles: NamedDependency[RoleAdministration]) -> Response[PermissionList]:
        return bare(await roles.permissions())

    @post(
        "/",
        name="permissions.create",
        summary="Create a permission",
        response_headers=[LOCATION],
        opt=rules(policy=super_admin("create:permissions"), errors=("CONFLICT",)),
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[PermissionForm], roles: NamedDependency[RoleAdministration]
    ) -> Response[Data[Permission]]:
        permission = await roles.create_permission(request.caller, data, request.from_client)
        # a permission has no path of its own: the list is where it can be read
        return identity_data(permission, headers={"location": "/api/permissions"})
