"""/api/auth/factors: the caller's second factors, and the removal of a user's factors by an administrator."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post, put
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, MessageOnly, bare, identity_data, identity_message
from adapters.http.request.rules import PEOPLE, RECENT_PEOPLE, action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.factors.forms import (
    EMPTY,
    Begun,
    EmptyForm,
    FactorForm,
    FactorItem,
    FactorList,
    FinishForm,
    NewFactorItem,
    NewRecoveryCodes,
)
from application.identity.factors.my_factors import MyFactors
from application.identity.factors.resets import FactorResets

FINISH_TEXT = "With the first factor come recovery codes, which are shown this once."
LISTED = {"location": "/api/auth/factors"}
"""Location for a factor and for the number of recovery codes, because neither has a separate path."""

Factors: TypeAlias = NamedDependency[MyFactors]


class FactorsController(Controller):
    path = "/api/auth/factors"
    tags = ("second-factors",)

    @get(
        "/",
        **operation("auth.factors", "List one's own second factors", PEOPLE),
        description="The oldest first, with the number of recovery codes that are left.",
    )
    async def all(self, request: StrictRequest, my_factors: Factors) -> Response[FactorList]:
        return bare(await my_factors.all(request.caller))

    @post(
        "/totp/begin",
        **action("auth.begin-totp", "Set up an authenticator app", RECENT_PEOPLE, "CONFLICT", example={}),
        description="The secret, as text, as an address and as a QR code. Nothing is stored before its first code.",
    )
    async def begin_totp(
        self,
        request: StrictRequest,
        my_factors: Factors,
        data: JSONBody[EmptyForm] = EMPTY,  # noqa: ARG002  # it may be left out; other fields are refused
    ) -> Response[Data[Begun]]:
        return identity_data(await my_factors.begin(request.caller, "totp"))

    @post(
        "/totp/finish",
        **operation(
            "auth.finish-totp",
            "Confirm an authenticator app with its first code",
            RECENT_PEOPLE,
            "CONFLICT",
            example={"state": "the state of begin", "code": "123456", "name": "Phone"},
        ),
        description=FINISH_TEXT,
    )
    async def finish_totp(
        self, request: StrictRequest, data: JSONBody[FinishForm], my_factors: Factors
    ) -> Response[Data[NewFactorItem]]:
        made = await my_factors.finish(request.caller, "totp", data, request.from_client)
        return identity_data(made, headers=LISTED)

    @post(
        "/passkeys/begin",
        **action("auth.begin-passkey", "Make a passkey", RECENT_PEOPLE, "CONFLICT", example={}),
        description="`options` are for `navigator.credentials.create`, in the form of `parseCreationOptionsFromJSON`.",
    )
    async def begin_passkey(
        self,
        request: StrictRequest,
        my_factors: Factors,
        data: JSONBody[EmptyForm] = EMPTY,  # noqa: ARG002  # it may be left out; other fields are refused
    ) -> Response[Data[Begun]]:
        return identity_data(await my_factors.begin(request.caller, "passkey"))

    @post(
        "/passkeys/finish",
        **operation(
            "auth.finish-passkey",
            "Register the passkey that the browser made",
            RECENT_PEOPLE,
            "CONFLICT",
            example={"state": "the state of begin", "response": {}, "name": "Laptop"},
        ),
        description=FINISH_TEXT,
    )
    async def finish_passkey(
        self, request: StrictRequest, data: JSONBody[FinishForm], my_factors: Factors
    ) -> Response[Data[NewFactorItem]]:
        made = await my_factors.finish(request.caller, "passkey", data, request.from_client)
        return identity_data(made, headers=LISTED)

    @post(
        "/recovery-codes",
        **operation("auth.recovery-codes", "Make new recovery codes", RECENT_PEOPLE, "CONFLICT", example={}),
        description="Ten codes that serve once each and are shown this once; older ones are worth nothing any more.",
    )
    async def renew_codes(
        self,
        request: StrictRequest,
        my_factors: Factors,
        data: JSONBody[EmptyForm] = EMPTY,  # noqa: ARG002  # it may be left out; other fields are refused
    ) -> Response[Data[NewRecoveryCodes]]:
        return identity_data(await my_factors.renew_codes(request.caller, request.from_client), headers=LISTED)

    @put("/{factor_id:str}", **operation("auth.rename-factor", "Rename one of one's factors", PEOPLE))
    async def rename(
        self, request: StrictRequest, factor_id: PathId, data: JSONBody[FactorForm], my_factors: Factors
    ) -> Response[Data[FactorItem]]:
        return identity_data(await my_factors.rename(request.caller, read_id(factor_id), data))

    @delete(
        "/{factor_id:str}",
        **action("auth.remove-factor", "Remove one of one's factors", RECENT_PEOPLE, "CONFLICT"),
        description="The last one stays while a tenant requires one. Recovery codes go with it.",
    )
    async def remove(self, request: StrictRequest, factor_id: PathId, my_factors: Factors) -> Response[MessageOnly]:
        await my_factors.remove(request.caller, read_id(factor_id), request.from_client)
        return identity_message("The factor is removed.")


class FactorResetsController(Controller):
    path = "/api/users/{user_id:str}/factors"
    tags = ("users",)

    @delete(
        "/",
        **action(
            "users.reset-factors",
            "Remove all second factors of a user",
            # a service account cannot give a recent proof
            needs("update:users", recent=True, people=True),
        ),
        description="For who lost them. Recovery codes go too, every session of the user ends, and a mail tells them.",
    )
    async def reset(
        self, request: StrictRequest, user_id: PathId, factor_resets: NamedDependency[FactorResets]
    ) -> Response[MessageOnly]:
        await factor_resets.reset(request.caller, read_id(user_id), request.from_client)
        return identity_message("The second factors are removed.")
