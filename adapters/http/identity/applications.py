"""The application that a login is for."""

from adapters.http.request.rules import Parameter
from adapters.http.request.strict_request import StrictRequest
from domain.errors import ValidationError

# no registered application has a longer name
LONGEST = 100

APP_ID = Parameter(
    "X-App-Id",
    {"type": "string", "maxLength": LONGEST},
    "The application that asks; beats `requestedAppId` in the body.",
    "header",
)


def requested_app_id(request: StrictRequest, in_body: str | None = None) -> str | None:
    """The header's application before the body's; an empty name is none, and none is longer than a registered one."""
    asked = request.header(b"x-app-id") or in_body or None
    if asked is not None and len(asked) > LONGEST:
        raise ValidationError.on("requestedAppId", f"takes {LONGEST} characters at most")
    return asked
