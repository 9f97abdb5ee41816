"""/api/auth: what account holders do for themselves with their address and password."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.request.endpoint import PUBLIC, TENANT_TOKEN, Answer, Call, Endpoint, Run, Shown, ordinary_limit
from adapters.http.request.old_responses import message
from application.identity.accounts import Accounts, ChangeForm, ConfirmForm, EmailForm, ResetForm
from domain.limits import RESEND, RESET, Limit

SAID = (Shown(200, "message"),)


class Holding(Protocol):
    @property
    def accounts(self) -> Accounts: ...


@dataclass(frozen=True)
class AccountEndpoints:
    accounts: Accounts

    async def confirm(self, call: Call) -> Answer:
        await self.accounts.confirm_email(call.form(ConfirmForm), call.client)
        return message("The e-mail address is confirmed.")

    async def resend(self, call: Call) -> Answer:
        await self.accounts.request_link("confirmation", call.form(EmailForm))
        return message("If the address waits for its confirmation, a mail is on its way.")

    async def request_reset(self, call: Call) -> Answer:
        await self.accounts.request_link("reset", call.form(EmailForm))
        return message("If there is an account with this address, a mail is on its way.")

    async def reset(self, call: Call) -> Answer:
        await self.accounts.reset_password(call.form(ResetForm), call.client)
        return message("The password is set: log in with it.")

    async def change(self, call: Call) -> Answer:
        await self.accounts.change_password(call.signed_in, call.form(ChangeForm), call.client)
        return message("The password is changed, and every session has ended: log in with it.")


def account_endpoints(services: Holding) -> list[Endpoint]:
    made = AccountEndpoints(services.accounts)
    return [
        Endpoint(
            method="POST",
            path="/api/auth/confirm-email",
            run=made.confirm,
            policy=PUBLIC,
            limit=ordinary_limit("auth.confirm-email"),
            area="A",
            operation="auth.confirm-email",
            tag="auth",
            summary="Confirm an e-mail address",
            shown=SAID,
            body=ConfirmForm,
        ),
        _request("resend-confirmation", made.resend, RESEND, "Send the confirmation mail again"),
        _request("request-password-reset", made.request_reset, RESET, "Ask for a mail that lets set a new password"),
        Endpoint(
            method="POST",
            path="/api/auth/reset-password",
            run=made.reset,
            policy=PUBLIC,
            limit=ordinary_limit("auth.reset-password"),
            area="A",
            operation="auth.reset-password",
            tag="auth",
            summary="Set a new password with the token of a mail",
            description="Ends every session, lifts a lock and confirms the address. The token works once, for an hour.",
            shown=SAID,
            body=ResetForm,
        ),
        Endpoint(
            method="POST",
            path="/api/auth/change-password",
            run=made.change,
            policy=TENANT_TOKEN,
            limit=ordinary_limit("auth.change-password"),
            area="A",
            operation="auth.change-password",
            tag="auth",
            summary="Change one's own password",
            description="Ends every session, the caller's own included. Wrong guesses count towards the lock.",
            shown=SAID,
            body=ChangeForm,
            errors=("ACCOUNT_LOCKED",),
        ),
    ]


def _request(name: str, run: Run, limit: Limit, summary: str) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/api/auth/{name}",
        run=run,
        policy=PUBLIC,
        limit=limit,
        area="A",
        operation=f"auth.{name}",
        tag="auth",
        summary=summary,
        description="The answer is the same for every address, in the same time.",
        shown=SAID,
        body=EmailForm,
        by_email=True,
    )
