"""/api/auth/me: who one is."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.request.endpoint import ANY_TOKEN, Answer, Call, Endpoint, Parameter, Shown, ordinary_limit
from adapters.http.request.old_responses import data
from application.identity.profiles import BasicProfile, Profile, Profiles
from domain.errors import FieldError, ValidationError, unknown_name

INCLUDE = Parameter("include", {"type": "string", "enum": ["profile"]}, "`profile` answers the profile form.")


@dataclass(frozen=True)
class Me:
    profiles: Profiles

    async def me(self, call: Call) -> Answer:
        if _wants_profile(call.parameters()):
            return await self.complete(call)
        return data(self.profiles.basic(call.signed_in))

    async def complete(self, call: Call) -> Answer:
        return data(await self.profiles.complete(call.signed_in))


class Knowing(Protocol):
    @property
    def profiles(self) -> Profiles: ...


def me_endpoints(services: Knowing) -> list[Endpoint]:
    made = Me(services.profiles)
    return [
        Endpoint(
            method="GET",
            path="/api/auth/me",
            run=made.me,
            policy=ANY_TOKEN,
            limit=ordinary_limit("auth.me"),
            area="A",
            operation="auth.me",
            tag="auth",
            summary="Who one is, as the token says",
            shown=(Shown(200, "data", BasicProfile), Shown(200, "data", Profile)),
            parameters=(INCLUDE,),
            errors=("VALIDATION_ERROR",),
        ),
        Endpoint(
            method="GET",
            path="/api/auth/me/complete",
            run=made.complete,
            policy=ANY_TOKEN,
            limit=ordinary_limit("auth.me-complete"),
            area="A",
            operation="auth.me-complete",
            tag="auth",
            summary="Who one is, as the database says",
            shown=(Shown(200, "data", Profile),),
        ),
    ]


def _wants_profile(parameters: tuple[tuple[str, str], ...]) -> bool:
    errors = [FieldError(name, unknown_name(name, ["include"])) for name, _ in parameters if name != "include"]
    values = {value for name, value in parameters if name == "include" and value}
    if values - {"profile"}:
        errors.append(FieldError("include", "takes only 'profile'"))
    if errors:
        raise ValidationError(fields=errors)
    return bool(values)
