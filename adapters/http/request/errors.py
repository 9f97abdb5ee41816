"""From what went wrong to what is answered: the one table of HTTP numbers, and both areas' error envelopes."""

import logging
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Struct, UnsetType

from adapters.http.request.endpoint import Answer, Area
from domain.errors import Error, FieldError, InternalError, MethodNotAllowed, RateLimited, TooBusy, Unauthorized

STATUS = {
    "VALIDATION_ERROR": 400,
    "BAD_REQUEST": 400,
    "UNAUTHORIZED": 401,
    "TOKEN_INVALID": 401,
    "TOKEN_EXPIRED": 401,
    "INVALID_CREDENTIALS": 401,
    "ACCOUNT_DISABLED": 401,
    "EMAIL_NOT_CONFIRMED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "CONFLICT": 409,
    "PRECONDITION_FAILED": 412,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "UNPROCESSABLE_ENTITY": 422,
    "ACCOUNT_LOCKED": 423,
    "RATE_LIMITED": 429,
    "INTERNAL_ERROR": 500,
    "SERVICE_UNAVAILABLE": 503,
}
STATUS_AT = {("auth.login", "ACCOUNT_LOCKED"): 401}
"""Where one operation answers a code with another number."""

NAMES: dict[Area, dict[str, str]] = {
    "A": {"BAD_REQUEST": "VALIDATION_ERROR"},
    "B": {"TOKEN_INVALID": "UNAUTHORIZED", "TOKEN_EXPIRED": "UNAUTHORIZED"},
}
"""Codes that an area knows by another name."""

RETRY_SECONDS = b"5"

log = logging.getLogger(__name__)


class ErrorA(Struct, rename="camel", kw_only=True):
    is_success: bool = False
    error_code: str
    error_message: str
    errors: tuple[FieldError, ...] = ()


class ErrorDetail(Struct, rename="camel", kw_only=True):
    code: str
    message: str
    details: tuple[FieldError, ...] | UnsetType = UNSET
    trace_id: str


class ErrorB(Struct, kw_only=True):
    success: bool = False
    error: ErrorDetail


def error_answer(error: Error, area: Area, operation: str, request_id: str) -> Answer:
    return Answer(
        STATUS_AT.get((operation, error.code)) or STATUS[error.code],
        msgspec.json.encode(_envelope(error, area, request_id)),
        ((b"content-type", b"application/json"), *_headers(error)),
    )


def unknown_answer(error: Exception, area: Area, operation: str, request_id: str) -> Answer:
    """Told to the log once, with the request's id; the caller learns nothing but that id."""
    log.error("request failed", extra={"operation": operation, "request_id": request_id}, exc_info=error)
    return error_answer(InternalError(), area, operation, request_id)


def code_in(area: Area, code: str) -> str:
    return NAMES[area].get(code, code)


def _envelope(error: Error, area: Area, request_id: str) -> ErrorA | ErrorB:
    code = code_in(area, error.code)
    if area == "A":
        return ErrorA(error_code=code, error_message=error.message, errors=error.fields)
    details = error.fields or UNSET
    return ErrorB(error=ErrorDetail(code=code, message=error.message, details=details, trace_id=request_id))


def _headers(error: Error) -> Iterator[tuple[bytes, bytes]]:
    if STATUS[error.code] == 401:
        yield b"www-authenticate", _challenge(error)
    elif isinstance(error, MethodNotAllowed):
        yield b"allow", ", ".join(error.allowed).encode()
    elif isinstance(error, RateLimited):
        yield b"retry-after", str(error.retry_after).encode()
    elif isinstance(error, TooBusy):
        yield b"retry-after", b"1"
    elif error.code == "SERVICE_UNAVAILABLE":
        yield b"retry-after", RETRY_SECONDS


def _challenge(error: Error) -> bytes:
    """RFC 6750: an error is named only where a token was shown."""
    if not isinstance(error, Unauthorized) or type(error) is Unauthorized:
        return b'Bearer realm="tenantry"'
    said = error.message.replace('"', "'").encode("ascii", "replace")
    return b'Bearer realm="tenantry", error="invalid_token", error_description="' + said + b'"'
