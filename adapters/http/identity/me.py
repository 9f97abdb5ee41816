"""/api/auth/me: the caller's own name, roles and profile."""

from litestar import Controller, Response, get
from litestar.di import NamedDependency

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, Parameter, rules
from adapters.http.request.strict_request import StrictRequest
from application.identity.profiles import BasicProfile, Profile, Profiles
from domain.errors import FieldError, ValidationError, unknown_name

INCLUDE = Parameter("include", {"type": "string", "enum": ["profile"]}, "`profile` answers the profile form.")


class MeController(Controller):
    path = "/api/auth/me"
    tags = ("auth",)
    opt = rules(area="A", limit=ORDINARY)

    @get(
        "/",
        name="auth.me",
        summary="Who one is, as the token says",
        opt=rules(policy=ANY_TOKEN, parameters=(INCLUDE,), errors=("VALIDATION_ERROR",)),
    )
    async def me(
        self, request: StrictRequest, profiles: NamedDependency[Profiles]
    ) -> Response[Data[BasicProfile | Profile]]:
        if _wants_profile(request.parameters()):
            return identity_data(await profiles.complete(request.caller))
        # from the claims alone: this answer needs no database
        return identity_data(profiles.basic(request.caller))

    @get(
        "/complete",
        name="auth.me-complete",
        summary="Who one is, as the database says",
        opt=rules(policy=ANY_TOKEN),
    )
    async def complete(self, request: StrictRequest, profiles: NamedDependency[Profiles]) -> Response[Data[Profile]]:
        return identity_data(await profiles.complete(request.caller))


def _wants_profile(parameters: tuple[tuple[str, str], ...]) -> bool:
    """True for ``include=profile``; raises ValidationError naming every other parameter and value."""
    errors = [FieldError(name, unknown_name(name, ["include"])) for name, _ in parameters if name != "include"]
    values = {value for name, value in parameters if name == "include" and value}
    if values - {"profile"}:
        errors.append(FieldError("include", "takes only 'profile'"))
    if errors:
        raise ValidationError(fields=errors)
    return bool(values)
