"""/api/auth/register: making an account of one's own."""

import msgspec
from litestar import Controller, Response, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.request.responses import LOCATION, Json, Success
from adapters.http.request.rules import PUBLIC, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.registration import Registered, RegisterForm, Registration
from domain.limits import REGISTER


class RegistrationController(Controller):
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
        response_headers=[LOCATION],
    )
    async def register(
        self, request: StrictRequest, data: JSONBody[RegisterForm], registration: NamedDependency[Registration]
    ) -> Response[Success[Registered]]:
        registered = await registration.register(data, request.from_client)
        # the one success that is called "success" in area A: the specification's own word
        body = b'{"success":true,"data":' + msgspec.json.encode(registered) + b"}"
        return Json(body, headers={"location": f"/api/users/{registered.id}"})
