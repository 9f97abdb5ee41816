"""Which application a login is for."""

from adapters.http.request.endpoint import Call, Parameter
from domain.errors import ValidationError

LONGEST = 100

APP_ID = Parameter(
    "X-App-Id",
    {"type": "string", "maxLength": LONGEST},
    "The application that asks; beats `requestedAppId` in the body.",
    "header",
)


def requested_app_id(call: Call, in_body: str | None) -> str | None:
    """The header's before the body's, an empty one being none; no longer than a registered one can be."""
    asked = call.header(b"x-app-id") or in_body or None
    if asked is not None and len(asked) > LONGEST:
        raise ValidationError.on("requestedAppId", f"takes {LONGEST} characters at most")
    return asked
