"""The query of a sign-in page: the application, its address, its state and its challenge."""

from collections import Counter
from urllib.parse import urlencode

from msgspec import Struct

from adapters.http.request.strict_request import StrictRequest
from application.identity.handover.targets import Target
from domain.errors import ValidationError

NAMES = ("app", "redirect", "state", "code_challenge")
METHOD = "code_challenge_method"


class PageQuery(Struct, frozen=True):
    """The query parameters of a sign-in page, which name the application that gets the login.

    ``target`` is None where the pages were opened for no application.
    """

    target: Target | None

    @property
    def query(self) -> str:
        """The same four parameters again, for a link to another page: ``?app=…``, or nothing."""
        if self.target is None:
            return ""
        target = self.target
        named = (target.app_id, target.redirect, target.state, target.challenge)
        pairs = [(name, value) for name, value in zip(NAMES, named, strict=True) if value is not None]
        return f"?{urlencode(pairs)}"


def read_page_query(request: StrictRequest) -> PageQuery:
    """Raises ValidationError for a parameter that is given twice or left out, and for a method other than S256.

    Parameters of other names are left alone: links collect some on their way.
    """
    pairs = [(name, value) for name, value in request.parameters() if name in (*NAMES, METHOD)]
    for name, count in Counter(name for name, _ in pairs).items():
        # Security: two readers of an address with two values may each take another one.
        if count > 1:
            raise ValidationError.on(name, "is given twice")
    given = dict(pairs)
    if not given:
        return PageQuery(None)
    for name in ("app", "redirect", "code_challenge"):
        if not given.get(name):
            raise ValidationError.on(name, "is missing")
    if given.get(METHOD, "S256") != "S256":
        raise ValidationError.on(METHOD, "takes S256 alone")
    return PageQuery(
        Target(
            app_id=given["app"],
            redirect=given["redirect"],
            challenge=given["code_challenge"],
            state=given.get("state"),
        )
    )
