"""The query of a sign-in page: the application, its address, its state and its challenge."""

from collections import Counter
from urllib.parse import urlencode

from adapters.http.request.strict_request import StrictRequest
from application.identity.hosted_login.targets import Target
from domain.errors import ValidationError

NAMES = ("app", "redirect", "state", "code_challenge")
METHOD = "code_challenge_method"


def query_of(target: Target | None) -> str:
    """The query that names a target, for a link to another page: ``?app=…``, or nothing."""
    if target is None:
        return ""
    named = zip(NAMES, (target.app_id, target.redirect, target.state, target.challenge), strict=True)
    return f"?{urlencode([(name, value) for name, value in named if value is not None])}"


def read_target(request: StrictRequest) -> Target | None:
    """The application that gets the login; None where the pages were opened for no application.

    Raises ValidationError for a parameter that is given twice or left out, and for a method other than S256.

    Parameters of other names are left alone: links collect some on their way.
    """
    pairs = [(name, value) for name, value in request.parameters() if name in (*NAMES, METHOD)]
    for name, count in Counter(name for name, _ in pairs).items():
        # Security: two readers of an address with two values may each take another one.
        if count > 1:
            raise ValidationError.on(name, "is given twice")
    given = dict(pairs)
    if not given:
        return None
    for name in ("app", "redirect", "code_challenge"):
        if not given.get(name):
            raise ValidationError.on(name, "is missing")
    if given.get(METHOD, "S256") != "S256":
        raise ValidationError.on(METHOD, "takes S256 alone")
    return Target(
        app_id=given["app"],
        redirect=given["redirect"],
        challenge=given["code_challenge"],
        state=given.get("state"),
    )
