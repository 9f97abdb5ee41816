"""Query parameters of a sign-in page: the application, its address, the state and the PKCE challenge."""

from collections import Counter
from urllib.parse import urlencode

from adapters.http.request.strict_request import StrictRequest
from application.identity.hosted_login.targets import Target
from domain.errors import ValidationError

NAMES = ("app", "redirect", "state", "code_challenge")
METHOD = "code_challenge_method"


def query_of(target: Target | None) -> str:
    """Return the query that names a target, to link to another page: ``?app=…``, or nothing."""
    if target is None:
        return ""
    named = zip(NAMES, (target.app_id, target.redirect, target.state, target.challenge), strict=True)
    return f"?{urlencode([(name, value) for name, value in named if value is not None])}"


def read_target(request: StrictRequest) -> Target | None:
    """Return the application that receives the login; None if the query names none.

    Raises ValidationError for a repeated or missing parameter and for a method other than S256. Ignores other
    parameters.
    """
    pairs = [(name, value) for name, value in request.parameters() if name in (*NAMES, METHOD)]
    for name, count in Counter(name for name, _ in pairs).items():
        # Security: two programs could read different values of a repeated parameter.
        if count > 1:
            raise ValidationError.on(name, "is given twice")
    given = dict(pairs)
    if not given:
        return None
    for name in ("app", "redirect", "code_challenge"):
        if not given.get(name):
            raise ValidationError.on(name, "is missing")
    if given.get(METHOD, "S256") != "S256":
        raise ValidationError.on(METHOD, "must be S256")
    return Target(
        app_id=given["app"],
        redirect=given["redirect"],
        challenge=given["code_challenge"],
        state=given.get("state"),
    )
