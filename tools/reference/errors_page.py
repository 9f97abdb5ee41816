"""Every error code with its status and a body in the form of each area."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from adapters.http.request.errors import NAMES, STATUS, STATUS_AT, ErrorResponse
from adapters.http.request.rules import NOWHERE, Area
from domain.errors import (
    Challenge,
    Conflict,
    Error,
    FieldError,
    MethodNotAllowed,
    MfaEnrolmentRequired,
    MfaRequired,
    RateLimited,
    ReauthenticationRequired,
    UnprocessableEntity,
    ValidationError,
)
from tools.reference.markdown import block, code, sections, table

INTRODUCTION = """\
An error has one of three forms. *Identity* are the endpoints below `/api/auth`, `/api/users`, `/api/tenants`,
`/api/roles` and the like. *Entities* are the endpoints of declared entities and everything else, a path that nothing
answers included. `POST /api/auth/token` answers as RFC 6749 says, section 5.2.

Programs decide by the code; the message is for people, may change, and names what is wrong and what would be right.
`traceId` is the header `X-Request-Id` of the same answer, and stands in every log line of the request. `errors` and
`details` name each field that is wrong, all of them at once."""

CHALLENGE = Challenge(ticket="eyJ…", methods=("totp", "recovery"), expires_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
EXAMPLES: Mapping[str, Error] = {
    "VALIDATION_ERROR": ValidationError(
        fields=[FieldError("price", "must be at least 0"), FieldError("colour", "is not known; did you mean 'color'?")]
    ),
    "CONFLICT": Conflict.on("sku", "is taken by another row"),
    "UNPROCESSABLE_ENTITY": UnprocessableEntity(fields=[FieldError("salePrice", "must be below the price")]),
    "MFA_REQUIRED": MfaRequired(CHALLENGE),
    "MFA_ENROLMENT_REQUIRED": MfaEnrolmentRequired(CHALLENGE),
    "REAUTHENTICATION_REQUIRED": ReauthenticationRequired(600),
    "METHOD_NOT_ALLOWED": MethodNotAllowed(("GET", "HEAD")),
    "RATE_LIMITED": RateLimited(17),
}
"""Errors that carry more than their sentence."""

FORMS: tuple[tuple[Area, str], ...] = (("A", "Identity"), ("B", "Entities"), ("OAuth", "`/api/auth/token`"))
REQUEST_ID = "4f1d6c7e0b8a4d55a1c2e3f405162738"


def page() -> str:
    return sections("# Error codes", INTRODUCTION, _overview(), *_examples())


def _overview() -> str:
    rows = (
        (
            code(name),
            str(status),
            code(NAMES["A"].get(name, name)),
            code(NAMES["B"].get(name, name)),
            _error(name).sentence,
        )
        for name, status in STATUS.items()
    )
    other = (f"`{name}` of `{operation}` has the status {status}." for (operation, name), status in STATUS_AT.items())
    head = ("Code", "Status", "In identity", "In entities", "Message, unless a better one is known")
    return sections("## All codes", table(head, rows), "\n".join(f"- {line}" for line in other)).rstrip()


def _examples() -> Iterator[str]:
    for name, status in STATUS.items():
        error = _error(name)
        yield f"## {name}"
        meaning = type(error).__doc__
        # a class without a docstring of its own has that of its base
        if meaning and meaning not in (base.__doc__ for base in type(error).__mro__[1:]):
            yield " ".join(meaning.replace("``", "`").split())
        for area, title in FORMS:
            yield from _example(error, area, title, status)


def _example(error: Error, area: Area, title: str, status: int) -> Iterator[str]:
    if area == "OAuth" and error.code not in NAMES["OAuth"]:
        return
    answer = ErrorResponse(error, area, NOWHERE, REQUEST_ID)
    headers = "".join(f"{name}: {value}\n" for name, value in answer.headers.items())
    body = json.dumps(json.loads(answer.content), indent=2, ensure_ascii=False)
    text = f"HTTP/1.1 {status}\n{headers}\n{body}"
    yield f"{title}:\n\n{block(text, 'http')}"


def _error(name: str) -> Error:
    if name in EXAMPLES:
        return EXAMPLES[name]
    return next(kind() for kind in kinds(Error) if getattr(kind, "code", None) == name)


def kinds(base: type[Error]) -> Iterator[type[Error]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)
