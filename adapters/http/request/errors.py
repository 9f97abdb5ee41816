"""Errors as responses: the only mapping of error codes to statuses, and both areas' envelopes."""

import logging
import re
from collections.abc import Iterator
from secrets import token_hex
from traceback import walk_tb
from typing import Any

import msgspec
from litestar import Response
from litestar.connection import Request
from litestar.exceptions import HTTPException, LitestarException
from msgspec import UNSET, Struct, UnsetType

from adapters.http.request.body import ClientGone, TooSlow, too_large
from adapters.http.request.responses import Json, NoBody
from adapters.http.request.rules import RULES, Area, Rules, allowed
from adapters.http.strict_reading import ensure_json
from domain.errors import (
    MOST_ERRORS,
    BadRequest,
    Challenge,
    Conflict,
    Error,
    FieldError,
    Forbidden,
    InternalError,
    MethodNotAllowed,
    MfaRequired,
    NotFound,
    PreconditionFailed,
    RateLimited,
    ReauthenticationRequired,
    TooBusy,
    Unauthorized,
    UnprocessableEntity,
    UnsupportedMediaType,
    ValidationError,
)
from domain.forms import in_json_words
from domain.scope import Client

STATUS = {
    "VALIDATION_ERROR": 400,
    "BAD_REQUEST": 400,
    "UNAUTHORIZED": 401,
    "TOKEN_INVALID": 401,
    "TOKEN_EXPIRED": 401,
    "INVALID_CREDENTIALS": 401,
    "ACCOUNT_DISABLED": 401,
    "EMAIL_NOT_CONFIRMED": 401,
    "MFA_REQUIRED": 401,
    "MFA_ENROLMENT_REQUIRED": 401,
    "REAUTHENTICATION_REQUIRED": 401,
    "FORBIDDEN": 403,
    "QUOTA_EXCEEDED": 403,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "CONFLICT": 409,
    "CURSOR_EXPIRED": 410,
    "PRECONDITION_FAILED": 412,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "UNPROCESSABLE_ENTITY": 422,
    "ACCOUNT_LOCKED": 423,
    "RATE_LIMITED": 429,
    "INTERNAL_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
}
STATUS_AT = {
    ("auth.login", "ACCOUNT_LOCKED"): 401,
    ("auth.mfa-verify", "ACCOUNT_LOCKED"): 401,
    ("auth.mfa-enrol-finish", "ACCOUNT_LOCKED"): 401,
    ("console.sign-in", "ACCOUNT_LOCKED"): 401,
    ("console.refresh", "MFA_REQUIRED"): 403,
    ("console.refresh", "MFA_ENROLMENT_REQUIRED"): 403,
    ("auth.refresh", "MFA_REQUIRED"): 403,
    ("auth.refresh", "MFA_ENROLMENT_REQUIRED"): 403,
    ("auth.switch-tenant", "MFA_REQUIRED"): 403,
    ("auth.switch-tenant", "MFA_ENROLMENT_REQUIRED"): 403,
}
"""Different statuses for a code in single operations."""

NAMES: dict[Area, dict[str, str]] = {
    "A": {"BAD_REQUEST": "VALIDATION_ERROR"},
    "B": {"TOKEN_INVALID": "UNAUTHORIZED", "TOKEN_EXPIRED": "UNAUTHORIZED"},
    "OAuth": {
        "VALIDATION_ERROR": "invalid_request",
        "BAD_REQUEST": "invalid_request",
        "PAYLOAD_TOO_LARGE": "invalid_request",
        "UNSUPPORTED_MEDIA_TYPE": "invalid_request",
        "INVALID_CREDENTIALS": "invalid_client",
        "RATE_LIMITED": "slow_down",
        "SERVICE_UNAVAILABLE": "temporarily_unavailable",
        "INTERNAL_ERROR": "server_error",
    },
}
"""Different names of codes in an area."""

RAISED: dict[int, type[Error]] = {
    STATUS[kind.code]: kind
    for kind in (Unauthorized, Forbidden, Conflict, PreconditionFailed, UnsupportedMediaType, UnprocessableEntity)
}
"""Errors for Litestar exceptions from a user's handler, guard or middleware, by status; any other status is a 400."""

_MISSING = re.compile(r"Missing required \w+ parameter '(.+)' for path ")
"""Litestar's message about a required parameter: only its text has the name."""

RETRY_SECONDS = "5"

log = logging.getLogger(__name__)


class ErrorA(Struct, rename="camel", kw_only=True):
    is_success: bool = False
    error_code: str
    error_message: str
    errors: tuple[FieldError, ...] = ()
    mfa: Challenge | UnsetType = UNSET


class ErrorDetail(Struct, rename="camel", kw_only=True):
    code: str
    message: str
    details: tuple[FieldError, ...] | UnsetType = UNSET
    trace_id: str


class ErrorB(Struct, kw_only=True):
    success: bool = False
    error: ErrorDetail


class ErrorOAuth(Struct, kw_only=True):
    """Error of RFC 6749, section 5.2. OAuth libraries read no other format."""

    error: str
    error_description: str


ENVELOPES: dict[Area, type[Struct]] = {"A": ErrorA, "B": ErrorB, "OAuth": ErrorOAuth}


class ErrorResponse(Json):
    """An error in its area's envelope."""

    def __init__(self, error: Error, area: Area, operation: str, request_id: str) -> None:
        status = STATUS_AT.get((operation, error.code)) or STATUS[error.code]
        super().__init__(msgspec.json.encode(_envelope(error, area, request_id)), status, dict(_headers(error, status)))


def answer_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Handle exceptions of the service's and users' handlers."""
    if isinstance(error, TooSlow):
        return timed_out()
    rules: Rules = request.route_handler.opt[RULES]
    client: Client | None = request.scope["state"].get("client")
    # Middleware may fail before the pipeline sees the request.
    request_id = client.request_id if client else token_hex(16)
    return ErrorResponse(as_error(request, error, rules.operation, request_id), rules.area, rules.operation, request_id)


def timed_out() -> NoBody:
    """Return an empty 408 for a missing body; the pipeline adds ``Connection: close``."""
    return NoBody(408)


def as_error(request: Request[Any, Any, Any], error: Exception, operation: str, request_id: str) -> Error:
    """Return the error for an exception, and add its code to the access log.

    The service logs InternalError and unexpected exceptions with traceback; the caller gets only the request id.
    """
    told = _as_error(request, error, operation, request_id)
    request.scope["state"]["refusal"] = told.code
    return told


def _as_error(request: Request[Any, Any, Any], error: Exception, operation: str, request_id: str) -> Error:
    if isinstance(error, Error) and not isinstance(error, InternalError):
        return error
    if isinstance(error, HTTPException) and error.status_code < 500:
        return _of_litestar(request, error)
    if isinstance(error, ClientGone):
        return BadRequest("The body ended before its time, or its chunks do not have the form of RFC 9112.")
    if _is_of_a_form_without_files(error):
        return _without_files()
    log.error("request failed", extra={"operation": operation, "request_id": request_id}, exc_info=error)
    return InternalError()


def log_late(error: Exception, operation: str, request_id: str) -> None:
    """Log a failure after the status was sent: in a stream or a background task."""
    # Litestar wraps the error, and servers log only the wrapper.
    cause = error.__cause__ if isinstance(error, LitestarException) and error.__cause__ else error
    told = {"operation": operation, "request_id": request_id}
    log.error("request failed after its answer began", extra=told, exc_info=cause)


def _of_litestar(request: Request[Any, Any, Any], error: HTTPException) -> Error:
    if error.status_code == 405:
        return MethodNotAllowed(allowed((error.headers or {}).get("allow", "").split(", ")))
    if error.status_code == 413:
        return too_large(request.route_handler.resolve_request_max_body_size() or 0)
    wrong = error.extra if isinstance(error.extra, list) else []
    if error.status_code == 404 or any(place.get("source") == "path" for place in wrong):
        return NotFound()
    if any(place["message"] == "'data'" for place in wrong):
        return _missing_body(request)  # Litestar's message for an empty body; StrictRequest checks all others
    return _of_values(request, wrong) if wrong else _raised(error)


def _of_values(request: Request[Any, Any, Any], wrong: list[dict[str, str]]) -> Error:
    is_form = request.content_type[0] in {"", "multipart/form-data"}
    if is_form and any(place["message"].startswith("Unsupported type: ") for place in wrong):
        return _without_files()  # Litestar's message for a value or a form instead of an UploadFile
    named = request.route_handler.opt[RULES].named
    fields = [(place.get("key", ""), in_json_words(place["message"])) for place in wrong]
    return ValidationError(fields=[FieldError(named.get(key, key), message) for key, message in fields])


def _without_files() -> Error:
    return ValidationError.on("data", "is required")


def _is_of_a_form_without_files(error: Exception) -> bool:
    raised = error.__cause__ if isinstance(error.__cause__, StopIteration) else error
    if not isinstance(raised, StopIteration | IndexError):
        return False
    return any(frame.f_code.co_name == "_extract_multipart" for frame, _ in walk_tb(raised.__traceback__))


def _raised(error: HTTPException) -> Error:
    if missing := _MISSING.match(error.detail):
        return ValidationError.on(missing[1], "is required")
    if error.status_code == 429:
        waits = {name.lower(): value for name, value in (error.headers or {}).items()}.get("retry-after", "")
        return RateLimited(int(waits) if waits.isdecimal() else 1, error.detail)
    return RAISED.get(error.status_code, BadRequest)(error.detail)


def _missing_body(request: Request[Any, Any, Any]) -> Error:
    try:
        ensure_json(request.headers.get("content-type", "").encode("latin-1"))
    except Error as error:
        return error
    return BadRequest("The body is not valid JSON.")


def code_in(area: Area, code: str) -> str:
    return NAMES[area].get(code, code)


def error_body(error: Error) -> ErrorA:
    """Return area A's error envelope, for a page that continues with it."""
    mfa = error.challenge if isinstance(error, MfaRequired) else UNSET
    message, listed = _bounded(error)
    return ErrorA(error_code=code_in("A", error.code), error_message=message, errors=listed, mfa=mfa)


def _envelope(error: Error, area: Area, request_id: str) -> ErrorA | ErrorB | ErrorOAuth:
    code = code_in(area, error.code)
    if area == "OAuth":
        return ErrorOAuth(error=code, error_description=error.message)
    if area == "A":
        return error_body(error)
    message, listed = _bounded(error)
    return ErrorB(error=ErrorDetail(code=code, message=message, details=listed or UNSET, trace_id=request_id))


def _bounded(error: Error) -> tuple[str, tuple[FieldError, ...]]:
    if len(error.fields) <= MOST_ERRORS:
        return error.message, error.fields
    return f"{error.message} Only the first {MOST_ERRORS} errors are listed.", error.fields[:MOST_ERRORS]


def _headers(error: Error, status: int) -> Iterator[tuple[str, str]]:
    if status == 401:
        yield "www-authenticate", _challenge(error)
    elif isinstance(error, MethodNotAllowed):
        yield "allow", ", ".join(error.allowed)
    elif isinstance(error, RateLimited):
        yield "retry-after", str(error.retry_after)
    elif isinstance(error, TooBusy):
        yield "retry-after", "1"
    elif error.code == "SERVICE_UNAVAILABLE":
        yield "retry-after", RETRY_SECONDS


def _challenge(error: Error) -> str:
    """RFC 6750: name an error only for a sent token. RFC 9470: the token's proof is too old."""
    if isinstance(error, ReauthenticationRequired):
        return f'Bearer error="insufficient_user_authentication", max_age="{error.max_age}"'
    if not isinstance(error, Unauthorized) or type(error) is Unauthorized:
        return 'Bearer realm="tenantry"'
    said = error.message.replace('"', "'").encode("ascii", "replace").decode("ascii")
    return f'Bearer realm="tenantry", error="invalid_token", error_description="{said}"'
