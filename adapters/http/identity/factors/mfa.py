"""/api/auth/mfa: the second step of a login, in which a factor is verified or enrolled."""

from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import PUBLIC, action
from adapters.http.request.strict_request import StrictRequest
from application.identity.factors.forms import Begun, EnrolFinishForm, EnrolForm, TicketForm, VerifyForm
from application.identity.factors.second_factor import Completed, Enrolled, SecondFactor
from domain.limits import Limit

LOGINS = (
    "ACCOUNT_LOCKED",
    "ACCOUNT_DISABLED",
    "EMAIL_NOT_CONFIRMED",
    "INVALID_CREDENTIALS",
    "TOKEN_INVALID",
    "TOKEN_EXPIRED",
    "MFA_REQUIRED",
    "MFA_ENROLMENT_REQUIRED",
    "FORBIDDEN",
)
"""Errors of operations that create a session: each operation checks the account's state again after the factor."""


class MfaController(Controller):
    path = "/api/auth/mfa"
    tags = ("second-factors",)

    @post(
        "/verify",
        **action(
            "auth.mfa-verify",
            "Finish a login with a second factor",
            PUBLIC,
            *LOGINS,
            limit=Limit("auth.mfa-verify", 10),
            example={"ticket": "the mfa.ticket of your last answer", "method": "totp", "code": "123456"},
        ),
        description="Answers what login or switch-tenant would have answered. A wrong code leaves the ticket usable.",
    )
    async def verify(
        self, request: StrictRequest, data: JSONBody[VerifyForm], second_factor: NamedDependency[SecondFactor]
    ) -> Response[Data[Completed]]:
        return identity_data(await second_factor.verify(data, request.from_client))

    @post(
        "/passkey",
        **action(
            "auth.mfa-passkey",
            "Ask for a passkey of the account whose login waits",
            PUBLIC,
            limit=Limit("auth.mfa-passkey", 10),
            example={"ticket": "the mfa.ticket of your last answer"},
        ),
    )
    async def ask(
        self, data: JSONBody[TicketForm], second_factor: NamedDependency[SecondFactor]
    ) -> Response[Data[Begun]]:
        return identity_data(await second_factor.ask(data.ticket))

    @post(
        "/enrol",
        **action(
            "auth.mfa-enrol",
            "Set up the second factor that a login needs",
            PUBLIC,
            "CONFLICT",
            limit=Limit("auth.mfa-enrol", 10),
            example={"ticket": "the mfa.ticket of your last answer", "kind": "totp"},
        ),
        description="For the ticket of MFA_ENROLMENT_REQUIRED. Nothing is stored before enrol/finish.",
    )
    async def enrol(
        self, data: JSONBody[EnrolForm], second_factor: NamedDependency[SecondFactor]
    ) -> Response[Data[Begun]]:
        return identity_data(await second_factor.enrol(data))

    @post(
        "/enrol/finish",
        **action(
            "auth.mfa-enrol-finish",
            "Confirm the new second factor and finish the login",
            PUBLIC,
            *LOGINS,
            "CONFLICT",
            limit=Limit("auth.mfa-enrol-finish", 10),
            example={"ticket": "as for enrol", "state": "the state of enrol", "code": "123456"},
        ),
        description="Answers what the login would have answered, with recovery codes, which are shown this once.",
    )
    async def finish(
        self, request: StrictRequest, data: JSONBody[EnrolFinishForm], second_factor: NamedDependency[SecondFactor]
    ) -> Response[Data[Enrolled]]:
        return identity_data(await second_factor.finish_enrolment(data, request.from_client))
