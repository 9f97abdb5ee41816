"""/api/roles and /api/permissions, and the roles that grant a user's permissions."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, bare, identity_data, identity_message
from adapters.http.request.rules import action, needs, operation, super_admin
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.administration.held_permissions import HeldPermissionList, HeldPermissions
from application.identity.administration.roles import (
    ListedRoleItem,
    PermissionForm,
    PermissionList,
    RoleAdministration,
    RoleChange,
    RoleForm,
    RoleItem,
    RoleList,
)
from domain.scope import Permission

Roles: TypeAlias = NamedDependency[RoleAdministration]


class RolesController(Controller):
    path = "/api/roles"
    tags = ("roles",)

    @get("/", **operation("roles.all", "List the roles of the tenant and the system's", needs("read:roles")))
    async def all(self, request: StrictRequest, roles: Roles) -> Response[RoleList]:
        return bare(await roles.all(request.caller))

    @post(
        "/",
        **operation("roles.create", "Create a role", needs("create:roles"), "CONFLICT"),
        description="It belongs to the caller's tenant; nobody gives away a permission they do not hold.",
    )
    async def create(self, request: StrictRequest, data: JSONBody[RoleForm], roles: Roles) -> Response[Data[RoleItem]]:
        role = await roles.create(request.caller, data, request.from_client)
        return identity_data(role, headers={"location": f"/api/roles/{role.id}"})

    @get(
        "/{role_id:str}",
        **operation("roles.get", "Read a role of the tenant or of the system", needs("read:roles"), "NOT_FOUND"),
    )
    async def get(self, request: StrictRequest, role_id: PathId, roles: Roles) -> Response[Data[ListedRoleItem]]:
        return identity_data(await roles.get(request.caller, read_id(role_id)))

    @put(
        "/{role_id:str}",
        **operation("roles.update", "Change a role", needs("update:roles"), "CONFLICT"),
        description="Tokens of its holders must be refreshed afterwards.",
    )
    async def update(
        self, request: StrictRequest, role_id: PathId, data: JSONBody[RoleChange], roles: Roles
    ) -> Response[Data[RoleItem]]:
        return identity_data(await roles.update(request.caller, read_id(role_id), data, request.from_client))

    @delete(
        "/{role_id:str}",
        **action("roles.delete", "Delete a role that nobody holds", needs("delete:roles"), "CONFLICT"),
    )
    async def remove(self, request: StrictRequest, role_id: PathId, roles: Roles) -> Response[MessageOnly]:
        await roles.delete(request.caller, read_id(role_id), request.from_client)
        return identity_message("The role is deleted.")


class PermissionsController(Controller):
    path = "/api/permissions"
    tags = ("permissions",)

    @get("/", **operation("permissions.all", "List the permissions that roles may hold", needs("read:permissions")))
    async def all(self, roles: Roles) -> Response[PermissionList]:
        return bare(await roles.permissions())

    @post(
        "/",
        **operation("permissions.create", "Create a permission", super_admin("create:permissions"), "CONFLICT"),
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[PermissionForm], roles: Roles
    ) -> Response[Data[Permission]]:
        permission = await roles.create_permission(request.caller, data, request.from_client)
        # a permission has no separate path
        return identity_data(permission, headers={"location": "/api/permissions"})


class HeldPermissionsController(Controller):
    path = "/api/users/{user_id:str}/permissions"
    tags = ("users",)

    @get(
        "/",
        **operation("users.permissions", "Tell which roles give a user which permission", needs("read:roles")),
        description="In the caller's tenant. Needs `read:users` too. Permissions are listed as roles name them, with "
        "wildcards; of system roles held outside the tenant only super-admins are told.",
    )
    async def permissions(
        self, request: StrictRequest, user_id: PathId, held_permissions: NamedDependency[HeldPermissions]
    ) -> Response[Data[HeldPermissionList]]:
        return identity_data(await held_permissions.of(request.caller, read_id(user_id)))
