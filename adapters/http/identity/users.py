"""/api/users: the users of the caller's tenant."""

from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.identity.listing import USER_PARAMETERS
from adapters.http.request.responses import LOCATION, Data, MessageOnly, bare, identity_data, identity_message
from adapters.http.request.rules import ORDINARY, needs, rules
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.administration.user_forms import NewUserForm, RolesForm, UserDetail, UserForm, UserPage
from application.identity.administration.users import UserAdministration


class UsersController(Controller):
    path = "/api/users"
    tags = ("users",)
    opt = rules(area="A", limit=ORDINARY)

    @get(
        "/",
        name="users.page",
        summary="List users",
        opt=rules(policy=needs("read:users"), parameters=USER_PARAMETERS, errors=("VALIDATION_ERROR",)),
    )
    async def page(self, request: StrictRequest, users: NamedDependency[UserAdministration]) -> Response[UserPage]:
        # users, roles and permissions are listed without an envelope, tenants and members within one
        return bare(await users.page(request.caller, request.parameters()))

    @post(
        "/",
        name="users.create",
        summary="Create a user",
        description="The user becomes a member of the caller's tenant, with the roles named.",
        response_headers=[LOCATION],
        opt=rules(policy=needs("create:users"), errors=("CONFLICT",)),
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[NewUserForm], users: NamedDependency[UserAdministration]
    ) -> Response[Data[UserDetail]]:
        user = await users.create(request.caller, data, request.from_client)
        return identity_data(user, headers={"location": f"/api/users/{user.id}"})

    @get(
        "/{user_id:str}",  # and not :uuid: a malformed id passes token, limit and permission before it is a 404
        name="users.get",
        summary="Read a user",
        opt=rules(policy=needs("read:users")),
    )
    async def read(
        self, request: StrictRequest, user_id: PathId, users: NamedDependency[UserAdministration]
    ) -> Response[Data[UserDetail]]:
        return identity_data(await users.get(request.caller, read_id(user_id)))

    @put(
        "/{user_id:str}",
        name="users.update",
        summary="Change a user",
        description="Fields sent change, fields left out stay.",
        opt=rules(policy=needs("update:users"), errors=("CONFLICT",)),
    )
    async def update(
        self,
        request: StrictRequest,
        user_id: PathId,
        data: JSONBody[UserForm],
        users: NamedDependency[UserAdministration],
    ) -> Response[Data[UserDetail]]:
        return identity_data(await users.update(request.caller, read_id(user_id), data, request.from_client))

    @delete(
        "/{user_id:str}",
        name="users.delete",
        # and not 204, which has no body: a message is answered
        status_code=200,
        summary="Delete a user",
        description="Ends the membership in the caller's tenant, and the account when it was the last.",
        opt=rules(policy=needs("delete:users"), errors=("CONFLICT",)),
    )
    async def remove(
        self, request: StrictRequest, user_id: PathId, users: NamedDependency[UserAdministration]
    ) -> Response[MessageOnly]:
        await users.delete(request.caller, read_id(user_id), request.from_client)
        return identity_message("The user is deleted.")

    @post(
        "/{user_id:str}/roles",
        name="users.assign-roles",
        status_code=200,
        summary="Replace a user's roles",
        opt=rules(policy=needs("update:users"), errors=("CONFLICT",)),
    )
    async def assign_roles(
        self,
        request: StrictRequest,
        user_id: PathId,
        data: JSONBody[RolesForm],
        users: NamedDependency[UserAdministration],
    ) -> Response[Data[UserDetail]]:
        return identity_data(await users.assign_roles(request.caller, read_id(user_id), data, request.from_client))

    @post(
        "/{user_id:str}/unlock",
        name="users.unlock",
        status_code=200,
        summary="End the lock of a user's address",
        opt=rules(policy=needs("update:users")),
    )
    async def unlock(
        self, request: StrictRequest, user_id: PathId, users: NamedDependency[UserAdministration]
    ) -> Response[Data[UserDetail]]:
        return identity_data(await users.unlock(request.caller, read_id(user_id), request.from_client))
