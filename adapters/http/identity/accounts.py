"""/api/auth: confirming an address, and setting or changing a password."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import MessageOnly, identity_message
from adapters.http.request.rules import ORDINARY, PUBLIC, TENANT_TOKEN, rules
from adapters.http.request.strict_request import StrictRequest
from application.identity.accounts import Accounts, ChangeForm, ConfirmForm, EmailForm, ResetForm
from domain.limits import RESEND, RESET

SAME_TEXT = "The answer is the same for every address, in the same time."


class AccountsController(Controller):
    path = "/api/auth"
    tags = ("auth",)
    opt = rules(area="A", limit=ORDINARY)

    @post(
        "/confirm-email",
        name="auth.confirm-email",
        status_code=200,
        summary="Confirm an e-mail address",
        opt=rules(policy=PUBLIC),
    )
    async def confirm(
        self, request: StrictRequest, data: JSONBody[ConfirmForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.confirm_email(data, request.from_client)
        return identity_message("The e-mail address is confirmed.")

    @post(
        "/resend-confirmation",
        name="auth.resend-confirmation",
        status_code=200,
        summary="Send the confirmation mail again",
        description=SAME_TEXT,
        opt=rules(policy=PUBLIC, limit=RESEND, by_email="silent"),
    )
    async def resend(
        self, request: StrictRequest, data: JSONBody[EmailForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.request_link("confirmation", data, silent=request.is_silenced)
        # the words say nothing about the address: whoever asks might not be its owner
        return identity_message("If the address waits for its confirmation, a mail is on its way.")

    @post(
        "/request-password-reset",
        name="auth.request-password-reset",
        status_code=200,
        summary="Ask for a mail that lets set a new password",
        description=SAME_TEXT,
        opt=rules(policy=PUBLIC, limit=RESET, by_email="silent"),
    )
    async def request_reset(
        self, request: StrictRequest, data: JSONBody[EmailForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.request_link("reset", data, silent=request.is_silenced)
        return identity_message("If there is an account with this address, a mail is on its way.")

    @post(
        "/reset-password",
        name="auth.reset-password",
        status_code=200,
        summary="Set a new password with the token of a mail",
        description="Ends every session, lifts a lock and confirms the address. The token works once, for an hour.",
        opt=rules(policy=PUBLIC),
    )
    async def reset(
        self, request: StrictRequest, data: JSONBody[ResetForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.reset_password(data, request.from_client)
        return identity_message("The password is set: log in with it.")

    @post(
        "/change-password",
        name="auth.change-password",
        status_code=200,
        summary="Change one's own password",
        description="Ends every session, the caller's own included. Wrong guesses count towards the lock.",
        opt=rules(policy=TENANT_TOKEN, errors=("ACCOUNT_LOCKED",)),
    )
    async def change(
        self, request: StrictRequest, data: JSONBody[ChangeForm], accounts: NamedDependency[Accounts]
    ) -> Response[MessageOnly]:
        await accounts.change_password(request.caller, data, request.from_client)
        return identity_message("The password is changed, and every session has ended: log in with it.")
