"""/api/auth/me: the caller's name, roles and profile."""

from litestar import Response, Router, get, put
from litestar.params import JSONBody

from adapters.http.request.responses import Data, identity_data
from adapters.http.request.rules import ANY_TOKEN, PEOPLE, Parameter, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.self_service.own_profile import OwnAccountForm, OwnProfile
from application.identity.self_service.profiles import BasicProfile, Profile, Profiles
from domain.errors import FieldError, ValidationError, unknown_name

INCLUDE = Parameter("include", {"type": "string", "enum": ["profile"]}, "`profile` answers the profile form.")


def me_router(profiles: Profiles, own_profile: OwnProfile) -> Router:
    """Return handlers that close over their use case: a dependency would be a tenth of a request's cost."""

    @get(
        "/",
        **operation("auth.me", "Who one is, as the token says", ANY_TOKEN, parameters=(INCLUDE,)),
    )
    async def me(request: StrictRequest) -> Response[Data[BasicProfile | Profile]]:
        if _wants_profile(request.parameters()):
            return identity_data(await profiles.complete(request.caller))
        # The claims suffice, so the database is not needed.
        return identity_data(profiles.basic(request.caller))

    @get("/complete", **operation("auth.me-complete", "Who one is, as the database says", ANY_TOKEN))
    async def complete(request: StrictRequest) -> Response[Data[Profile]]:
        return identity_data(await profiles.complete(request.caller))

    @put(
        "/",
        **operation(
            "auth.change-me", "Change one's own name, telephone or picture", PEOPLE, example={"fullName": "Ada Byron"}
        ),
        description="Fields sent change, fields left out stay; null clears one that may be null. A token keeps the "
        "name that it was issued with.",
    )
    async def change(request: StrictRequest, data: JSONBody[OwnAccountForm]) -> Response[Data[Profile]]:
        await own_profile.change(request.caller, data, request.from_client)
        return identity_data(await profiles.complete(request.caller))

    return Router("/api/auth/me", route_handlers=[me, complete, change], tags=["auth"])


def _wants_profile(parameters: tuple[tuple[str, str], ...]) -> bool:
    """Raises ValidationError for every parameter or value except ``include=profile``."""
    if not parameters:
        return False
    errors = [FieldError(name, unknown_name(name, ["include"])) for name, _ in parameters if name != "include"]
    values = {value for name, value in parameters if name == "include" and value}
    if values - {"profile"}:
        errors.append(FieldError("include", "must be 'profile'"))
    if errors:
        raise ValidationError(fields=errors)
    return bool(values)
