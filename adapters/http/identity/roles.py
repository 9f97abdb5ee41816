"""/api/roles and /api/permissions."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.request.endpoint import Answer, Call, Endpoint, Shown, needs, ordinary_limit, super_admin
from adapters.http.request.old_responses import bare, data, location, message
from adapters.http.request.paths import id_in
from application.identity.administration.roles import (
    PermissionForm,
    PermissionList,
    RoleAdministration,
    RoleChange,
    RoleForm,
    RoleItem,
    RoleList,
)
from domain.identity.permissions import Permission


@dataclass(frozen=True)
class RoleEndpoints:
    roles: RoleAdministration

    async def all(self, call: Call) -> Answer:
        return bare(await self.roles.all(call.signed_in))

    async def create(self, call: Call) -> Answer:
        role = await self.roles.create(call.signed_in, call.form(RoleForm), call.client)
        return data(role, 201, (location(f"/api/roles/{role.id}"),))

    async def update(self, call: Call) -> Answer:
        form, role_id = call.form(RoleChange), id_in(call, "role_id")
        return data(await self.roles.update(call.signed_in, role_id, form, call.client))

    async def delete(self, call: Call) -> Answer:
        await self.roles.delete(call.signed_in, id_in(call, "role_id"), call.client)
        return message("The role is deleted.")

    async def permissions(self, _: Call) -> Answer:
        return bare(await self.roles.permissions())

    async def create_permission(self, call: Call) -> Answer:
        form = call.form(PermissionForm)
        permission = await self.roles.create_permission(call.signed_in, form, call.client)
        return data(permission, 201, (location("/api/permissions"),))


class KeepingRoles(Protocol):
    @property
    def roles(self) -> RoleAdministration: ...


def role_endpoints(services: KeepingRoles) -> list[Endpoint]:
    made = RoleEndpoints(services.roles)
    return [*_roles(made), *_role(made), *_permissions(made)]


def _roles(made: RoleEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/api/roles",
            run=made.all,
            policy=needs("read:roles"),
            limit=ordinary_limit("roles.all"),
            area="A",
            operation="roles.all",
            tag="roles",
            summary="List the roles of the tenant and the system's",
            shown=(Shown(200, "bare", RoleList),),
        ),
        Endpoint(
            method="POST",
            path="/api/roles",
            run=made.create,
            policy=needs("create:roles"),
            limit=ordinary_limit("roles.create"),
            area="A",
            operation="roles.create",
            tag="roles",
            summary="Create a role",
            description="It belongs to the caller's tenant; nobody gives away a permission they do not hold.",
            shown=(Shown(201, "data", RoleItem, ("Location",)),),
            body=RoleForm,
            errors=("CONFLICT",),
        ),
    ]


def _role(made: RoleEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="PUT",
            path="/api/roles/{role_id}",
            run=made.update,
            policy=needs("update:roles"),
            limit=ordinary_limit("roles.update"),
            area="A",
            operation="roles.update",
            tag="roles",
            summary="Change a role",
            description="Tokens of its holders must be refreshed afterwards.",
            shown=(Shown(200, "data", RoleItem),),
            body=RoleChange,
            errors=("CONFLICT",),
        ),
        Endpoint(
            method="DELETE",
            path="/api/roles/{role_id}",
            run=made.delete,
            policy=needs("delete:roles"),
            limit=ordinary_limit("roles.delete"),
            area="A",
            operation="roles.delete",
            tag="roles",
            summary="Delete a role that nobody holds",
            shown=(Shown(200, "message"),),
            errors=("CONFLICT",),
        ),
    ]


def _permissions(made: RoleEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/api/permissions",
            run=made.permissions,
            policy=needs("read:permissions"),
            limit=ordinary_limit("permissions.all"),
            area="A",
            operation="permissions.all",
            tag="permissions",
            summary="List the permissions that roles may hold",
            shown=(Shown(200, "bare", PermissionList),),
        ),
        Endpoint(
            method="POST",
            path="/api/permissions",
            run=made.create_permission,
            policy=super_admin("create:permissions"),
            limit=ordinary_limit("permissions.create"),
            area="A",
            operation="permissions.create",
            tag="permissions",
            summary="Create a permission",
            shown=(Shown(201, "data", Permission, ("Location",)),),
            body=PermissionForm,
            errors=("CONFLICT",),
        ),
    ]
