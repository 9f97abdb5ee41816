"""/api/users: the users of the caller's tenant."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.identity.administration.listing import USER_PARAMETERS
from adapters.http.request.responses import Data, MessageOnly, bare, identity_data, identity_message
from adapters.http.request.rules import action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.administration.user_forms import NewUserForm, RolesForm, UserDetail, UserForm, UserPage
from application.identity.administration.users import UserAdministration

Users: TypeAlias = NamedDependency[UserAdministration]


class UsersController(Controller):
    path = "/api/users"
    tags = ("users",)

    @get(
        "/",
        **operation("users.page", "List users", needs("read:users"), parameters=USER_PARAMETERS),
    )
    async def page(self, request: StrictRequest, users: Users) -> Response[UserPage]:
        # The specification returns users, roles and permissions without an envelope, tenants and members with one.
        return bare(await users.page(request.caller, request.parameters()))

    @post(
        "/",
        **operation("users.create", "Create a user", needs("create:users"), "CONFLICT"),
        description="The user becomes a member of the caller's tenant, with the roles named.",
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[NewUserForm], users: Users
    ) -> Response[Data[UserDetail]]:
        user = await users.create(request.caller, data, request.from_client)
        return identity_data(user, headers={"location": f"/api/users/{user.id}"})

    @get("/{user_id:str}", **operation("users.get", "Read a user", needs("read:users")))
    async def read(self, request: StrictRequest, user_id: PathId, users: Users) -> Response[Data[UserDetail]]:
        return identity_data(await users.get(request.caller, read_id(user_id)))

    @put(
        "/{user_id:str}",
        **operation("users.update", "Change a user", needs("update:users"), "CONFLICT", "REAUTHENTICATION_REQUIRED"),
        description="Fields sent change, fields left out stay. Another address of one's own needs a recent proof.",
    )
    async def update(
        self, request: StrictRequest, user_id: PathId, data: JSONBody[UserForm], users: Users
    ) -> Response[Data[UserDetail]]:
        return identity_data(await users.update(request.caller, read_id(user_id), data, request.from_client))

    @delete(
        "/{user_id:str}",
        **action("users.delete", "Delete a user", needs("delete:users"), "CONFLICT"),
        description="Ends the membership in the caller's tenant, and the account when it was the last.",
    )
    async def remove(self, request: StrictRequest, user_id: PathId, users: Users) -> Response[MessageOnly]:
        await users.delete(request.caller, read_id(user_id), request.from_client)
        return identity_message("The user is deleted.")

    @post(
        "/{user_id:str}/roles",
        **action("users.assign-roles", "Replace a user's roles", needs("update:users"), "CONFLICT"),
    )
    async def assign_roles(
        self, request: StrictRequest, user_id: PathId, data: JSONBody[RolesForm], users: Users
    ) -> Response[Data[UserDetail]]:
        return identity_data(await users.assign_roles(request.caller, read_id(user_id), data, request.from_client))

    @post(
        "/{user_id:str}/unlock",
        **action("users.unlock", "End the lock of a user's address", needs("update:users")),
    )
    async def unlock(self, request: StrictRequest, user_id: PathId, users: Users) -> Response[Data[UserDetail]]:
        return identity_data(await users.unlock(request.caller, read_id(user_id), request.from_client))
