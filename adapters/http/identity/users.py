"""/api/users: the users of the caller's tenant."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.identity.listing import USER_PARAMETERS
from adapters.http.request.endpoint import Answer, Call, Endpoint, Shown, needs, ordinary_limit
from adapters.http.request.old_responses import bare, data, location, message
from adapters.http.request.paths import id_in
from application.identity.administration.user_forms import NewUserForm, RolesForm, UserDetail, UserForm, UserPage
from application.identity.administration.users import UserAdministration


@dataclass(frozen=True)
class UserEndpoints:
    users: UserAdministration

    async def page(self, call: Call) -> Answer:
        return bare(await self.users.page(call.signed_in, call.parameters()))

    async def get(self, call: Call) -> Answer:
        return data(await self.users.get(call.signed_in, id_in(call, "user_id")))

    async def create(self, call: Call) -> Answer:
        form = call.form(NewUserForm)
        user = await self.users.create(call.signed_in, form, call.client)
        return data(user, 201, (location(f"/api/users/{user.id}"),))

    async def update(self, call: Call) -> Answer:
        form, user_id = call.form(UserForm), id_in(call, "user_id")
        return data(await self.users.update(call.signed_in, user_id, form, call.client))

    async def delete(self, call: Call) -> Answer:
        await self.users.delete(call.signed_in, id_in(call, "user_id"), call.client)
        return message("The user is deleted.")

    async def assign_roles(self, call: Call) -> Answer:
        form, user_id = call.form(RolesForm), id_in(call, "user_id")
        return data(await self.users.assign_roles(call.signed_in, user_id, form, call.client))

    async def unlock(self, call: Call) -> Answer:
        return data(await self.users.unlock(call.signed_in, id_in(call, "user_id"), call.client))


class KeepingUsers(Protocol):
    @property
    def users(self) -> UserAdministration: ...


def user_endpoints(services: KeepingUsers) -> list[Endpoint]:
    made = UserEndpoints(services.users)
    return [*_accounts(made), *_changes(made)]


def _accounts(made: UserEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="GET",
            path="/api/users",
            run=made.page,
            policy=needs("read:users"),
            limit=ordinary_limit("users.page"),
            area="A",
            operation="users.page",
            tag="users",
            summary="List users",
            shown=(Shown(200, "bare", UserPage),),
            parameters=USER_PARAMETERS,
            errors=("VALIDATION_ERROR",),
        ),
        Endpoint(
            method="POST",
            path="/api/users",
            run=made.create,
            policy=needs("create:users"),
            limit=ordinary_limit("users.create"),
            area="A",
            operation="users.create",
            tag="users",
            summary="Create a user",
            description="The user becomes a member of the caller's tenant, with the roles named.",
            shown=(Shown(201, "data", UserDetail, ("Location",)),),
            body=NewUserForm,
            errors=("CONFLICT",),
        ),
        Endpoint(
            method="GET",
            path="/api/users/{user_id}",
            run=made.get,
            policy=needs("read:users"),
            limit=ordinary_limit("users.get"),
            area="A",
            operation="users.get",
            tag="users",
            summary="Read a user",
            shown=(Shown(200, "data", UserDetail),),
        ),
    ]


def _changes(made: UserEndpoints) -> list[Endpoint]:
    return [
        Endpoint(
            method="PUT",
            path="/api/users/{user_id}",
            run=made.update,
            policy=needs("update:users"),
            limit=ordinary_limit("users.update"),
            area="A",
            operation="users.update",
            tag="users",
            summary="Change a user",
            description="Fields sent change, fields left out stay.",
            shown=(Shown(200, "data", UserDetail),),
            body=UserForm,
            errors=("CONFLICT",),
        ),
        Endpoint(
            method="DELETE",
            path="/api/users/{user_id}",
            run=made.delete,
            policy=needs("delete:users"),
            limit=ordinary_limit("users.delete"),
            area="A",
            operation="users.delete",
            tag="users",
            summary="Delete a user",
            description="Ends the membership in the caller's tenant, and the account when it was the last.",
            shown=(Shown(200, "message"),),
            errors=("CONFLICT",),
        ),
        Endpoint(
            method="POST",
            path="/api/users/{user_id}/roles",
            run=made.assign_roles,
            policy=needs("update:users"),
            limit=ordinary_limit("users.assign-roles"),
            area="A",
            operation="users.assign-roles",
            tag="users",
            summary="Replace a user's roles",
            shown=(Shown(200, "data", UserDetail),),
            body=RolesForm,
            errors=("CONFLICT",),
        ),
        _unlock(made),
    ]


def _unlock(made: UserEndpoints) -> Endpoint:
    return Endpoint(
        method="POST",
        path="/api/users/{user_id}/unlock",
        run=made.unlock,
        policy=needs("update:users"),
        limit=ordinary_limit("users.unlock"),
        area="A",
        operation="users.unlock",
        tag="users",
        summary="End the lock of a user's address",
        shown=(Shown(200, "data", UserDetail),),
    )
