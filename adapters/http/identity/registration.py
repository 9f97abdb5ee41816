"""/api/auth/register: making an account of one's own."""

from dataclasses import dataclass
from typing import Protocol

import msgspec

from adapters.http.request.endpoint import PUBLIC, Answer, Call, Endpoint, Shown
from adapters.http.request.old_responses import JSON, location
from application.identity.registration import Registered, RegisterForm, Registration
from domain.limits import REGISTER


class Registering(Protocol):
    @property
    def registration(self) -> Registration: ...


@dataclass(frozen=True)
class RegistrationEndpoints:
    registration: Registration

    async def register(self, call: Call) -> Answer:
        """The one success that is called ``success`` in area A."""
        made = await self.registration.register(call.form(RegisterForm), call.client)
        body = b'{"success":true,"data":' + msgspec.json.encode(made) + b"}"
        return Answer(201, body, (JSON, location(f"/api/users/{made.id}")))


def registration_endpoints(services: Registering) -> list[Endpoint]:
    made = RegistrationEndpoints(services.registration)
    return [
        Endpoint(
            method="POST",
            path="/api/auth/register",
            run=made.register,
            policy=PUBLIC,
            limit=REGISTER,
            area="A",
            operation="auth.register",
            tag="auth",
            summary="Make an account",
            description="Where addresses are to be confirmed, a mail with a link is sent, and login waits for it.",
            shown=(Shown(201, "success", Registered, ("Location",)),),
            body=RegisterForm,
            example={"email": "ada@example.com", "password": "a password of your own", "fullName": "Ada Example"},
            errors=("CONFLICT",),
            by_email=True,
        )
    ]
