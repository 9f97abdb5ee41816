"""/api/auth: creating an account, confirming its address, and setting or changing its password."""

import msgspec
from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Json, MessageOnly, Success, identity_message
from adapters.http.request.rules import PUBLIC, Policy, action, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.account.accounts import Accounts, ChangeForm, ConfirmForm, EmailForm, ResetForm
from application.identity.account.registration import Registered, RegisterForm, Registration
from domain.limits import REGISTER, RESET, Limit

OWN_PASSWORD = Policy("tenant", people=True)
SAME_TEXT = "The answer is the same for every address, in the same time."

RESEND = Limit("resend-confirmation", 3)


class AccountsController(Controller):
    path = "/api/auth"
    tags = ("auth",)

    @post(
        "/register",
        **operation(
            "auth.register",
            "Make an account",
            PUBLIC,
            "CONFLICT",
            "FORBIDDEN",
            limit=REGISTER,
            by_email=True,
            example={"email": "ada@example.com", "password": "a password of your own", "fullName": "Ada Example"},
        ),
        description="Where addresses are to be confirmed, a mail with a link is sent, and login waits for it.",
    )
    async def register(
        self, request: StrictRequest, data: JSONBody[RegisterForm], registration: NamedDependency[Registration]
    ) -> Response[Success[Registered]]:
        registered = await registration.register(data, request.from_client)
        # In area A, only this response has the member "success" in place of "isSuccess".
        body = b'{"success":true,"data":' + msgspec.json.encode(registered) + b"}"
        return Json(body, headers={"location": f"/api/users/{registered.id}"})

    @post(
        "/confirm-email",
        **action("auth.confirm-email", "Confirm an e-mail address", PUBLIC, "CONFLICT"),
        description="409 on `email` for the link of a changed address that another account has got meanwhile.",
    )
    async def confirm(
        self, request: StrictRequest, data: JSONBody[ConfirmForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.confirm_email(data, request.from_client)
        return identity_message("The e-mail address is confirmed.")

    @post(
        "/resend-confirmation",
        **action(
            "auth.resend-confirmation", "Send the confirmation mail again", PUBLIC, limit=RESEND, by_email="silent"
        ),
        description=SAME_TEXT,
    )
    async def resend(
        self, request: StrictRequest, data: JSONBody[EmailForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.request_link("confirmation", data, request.from_client.language, silent=request.is_silenced)
        # Security: return the same message for every address, because the caller may not be its owner.
        return identity_message("If the address waits for its confirmation, a mail is on its way.")

    @post(
        "/request-password-reset",
        **action(
            "auth.request-password-reset",
            "Ask for a mail that lets set a new password",
            PUBLIC,
            limit=RESET,
            by_email="silent",
        ),
        description=SAME_TEXT,
    )
    async def request_reset(
        self, request: StrictRequest, data: JSONBody[EmailForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.request_link("reset", data, request.from_client.language, silent=request.is_silenced)
        return identity_message("If there is an account with this address, a mail is on its way.")

    @post(
        "/reset-password",
        **action("auth.reset-password", "Set a new password with the token of a mail", PUBLIC),
        description="Ends every session, lifts a lock and confirms the address. The token works once, for an hour.",
    )
    async def reset(
        self, request: StrictRequest, data: JSONBody[ResetForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.reset_password(data, request.from_client)
        return identity_message("The password is set: log in with it.")

    @post(
        "/change-password",
        **action("auth.change-password", "Change one's own password", OWN_PASSWORD, "ACCOUNT_LOCKED"),
        description="Ends every session, the caller's own included. Wrong guesses count towards the lock. The new"
        " password must be another than the current one.",
    )
    async def change(
        self, request: StrictRequest, data: JSONBody[ChangeForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.change_password(request.caller, data, request.from_client)
        return identity_message("The password is changed, and every session has ended: log in with it.")
