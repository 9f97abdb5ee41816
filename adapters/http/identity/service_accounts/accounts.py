"""/api/service-accounts: the service accounts of the caller's tenant."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.identity.administration.listing import IS_ACTIVE, LIST_PARAMETERS
from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import Parameter, action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.service_accounts.administration import ServiceAccountAdministration
from application.identity.service_accounts.forms import (
    ServiceAccountChange,
    ServiceAccountForm,
    ServiceAccountItem,
    ServiceAccountPage,
)

PARAMETERS = (
    *LIST_PARAMETERS,
    Parameter("role", {"type": "string"}, "Only accounts with the role of this name."),
    IS_ACTIVE,
)
HOLDS = "You can only give, remove, stop or start what you hold yourself."
Accounts: TypeAlias = NamedDependency[ServiceAccountAdministration]


class ServiceAccountsController(Controller):
    path = "/api/service-accounts"
    tags = ("service-accounts",)

    @get(
        "/",
        **operation(
            "service-accounts.page", "List service accounts", needs("read:service-accounts"), parameters=PARAMETERS
        ),
    )
    async def page(self, request: StrictRequest, service_accounts: Accounts) -> Response[Data[ServiceAccountPage]]:
        return identity_data(await service_accounts.page(request.caller, request.parameters()))

    @post(
        "/",
        **operation(
            "service-accounts.create",
            "Create a service account",
            needs("create:service-accounts"),
            "CONFLICT",
            "QUOTA_EXCEEDED",
        ),
        description=f"It belongs to the caller's tenant and has no key yet. {HOLDS}",
    )
    async def create(
        self, request: StrictRequest, data: JSONBody[ServiceAccountForm], service_accounts: Accounts
    ) -> Response[Data[ServiceAccountItem]]:
        account = await service_accounts.create(request.caller, data, request.from_client)
        return identity_data(account, headers={"location": f"/api/service-accounts/{account.id}"})

    @get(
        "/{account_id:str}",
        **operation("service-accounts.get", "Read a service account", needs("read:service-accounts")),
    )
    async def read(
        self, request: StrictRequest, account_id: PathId, service_accounts: Accounts
    ) -> Response[Data[ServiceAccountItem]]:
        return identity_data(await service_accounts.get(request.caller, read_id(account_id)))

    @put(
        "/{account_id:str}",
        **operation(
            "service-accounts.update", "Change a service account", needs("update:service-accounts"), "CONFLICT"
        ),
        description=f"Fields sent change, fields left out stay. Without `isActive` all its keys rest. {HOLDS}",
    )
    async def update(
        self,
        request: StrictRequest,
        account_id: PathId,
        data: JSONBody[ServiceAccountChange],
        service_accounts: Accounts,
    ) -> Response[Data[ServiceAccountItem]]:
        changed = await service_accounts.update(request.caller, read_id(account_id), data, request.from_client)
        return identity_data(changed)

    @delete(
        "/{account_id:str}",
        **action("service-accounts.delete", "Delete a service account", needs("delete:service-accounts")),
        description="Its keys and tokens are dead on the next request.",
    )
    async def remove(
        self, request: StrictRequest, account_id: PathId, service_accounts: Accounts
    ) -> Response[MessageOnly]:
        await service_accounts.delete(request.caller, read_id(account_id), request.from_client)
        return identity_message("The service account is deleted.")
