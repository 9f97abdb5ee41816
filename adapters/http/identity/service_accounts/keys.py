"""/api/service-accounts/{id}/keys: the API keys of a service account."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.service_accounts.forms import USUAL_ROTATION, ApiKeyItem, KeyForm, NewKey, RotationForm
from application.identity.service_accounts.keys import KeyAdministration

MAY_MAKE = needs("update:service-accounts", recent=True, people=True)
Keys: TypeAlias = NamedDependency[KeyAdministration]


class ApiKeysController(Controller):
    path = "/api/service-accounts/{account_id:str}/keys"
    tags = ("service-accounts",)

    @get(
        "/",
        **operation("service-accounts.keys", "List the keys of a service account", needs("read:service-accounts")),
        description="Living keys, the oldest first. A key's text is shown once, when it is made.",
    )
    async def all(self, request: StrictRequest, account_id: PathId, api_keys: Keys) -> Response[Data[list[ApiKeyItem]]]:
        return identity_data(await api_keys.all(request.caller, read_id(account_id)))

    @post(
        "/",
        **operation("service-accounts.create-key", "Make a key", MAY_MAKE, "QUOTA_EXCEEDED"),
        description="`key` is shown in this answer and never again. It may be narrower than its account.",
    )
    async def create(
        self, request: StrictRequest, account_id: PathId, data: JSONBody[KeyForm], api_keys: Keys
    ) -> Response[Data[NewKey]]:
        of_account = read_id(account_id)
        made = await api_keys.create(request.caller, of_account, data, request.from_client)
        # A key has no separate path.
        return identity_data(made, headers={"location": f"/api/service-accounts/{of_account}/keys"})

    @post(
        "/{key_id:str}/rotate",
        **operation("service-accounts.rotate-key", "Replace a key", MAY_MAKE, "CONFLICT", "QUOTA_EXCEEDED"),
        description="Answers a new key with the same rights; the old one lives on for `overlapMinutes`.",
    )
    async def rotate(
        self,
        request: StrictRequest,
        account_id: PathId,
        key_id: PathId,
        api_keys: Keys,
        data: JSONBody[RotationForm] = USUAL_ROTATION,
    ) -> Response[Data[NewKey]]:
        of_account = read_id(account_id)
        made = await api_keys.rotate(request.caller, of_account, read_id(key_id), data, request.from_client)
        return identity_data(made, headers={"location": f"/api/service-accounts/{of_account}/keys"})

    @delete(
        "/{key_id:str}",
        **action("service-accounts.end-key", "End a key", needs("update:service-accounts")),
        description="It and its tokens are dead on the next request, on every replica.",
    )
    async def end(
        self, request: StrictRequest, account_id: PathId, key_id: PathId, api_keys: Keys
    ) -> Response[MessageOnly]:
        await api_keys.end(request.caller, read_id(account_id), read_id(key_id), request.from_client)
        return identity_message("The key has ended.")
