"""The specification's errors, one class per error code. Only ``adapters/http`` maps them to HTTP statuses."""

import difflib
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextvars import ContextVar
from datetime import datetime
from itertools import islice
from typing import ClassVar
from uuid import UUID

from msgspec import Struct

MOST_ERRORS = 100
"""Maximum invalid fields in an error: a body may have a million."""
MOST_HINTS = 10
LONGEST_HINTED = 100

_hints_left: ContextVar[Iterator[int] | None] = ContextVar("_hints_left", default=None)

_ITEM_OF_BATCH = re.compile(r"^((?:items|operations)\[([0-9]+)\])\.")


class FieldError(Struct, frozen=True):
    """Invalid field: its wire name (``items[3].price``) and a sentence about the accepted values."""

    field: str
    message: str

    def is_about(self, names: Collection[str]) -> bool:
        """Return whether the field is or is within one of ``names``: ``words``, ``words[0]``, ``items[3].words[0]``."""
        # A batch item is not a field, and an entity may have a field of that name.
        steps = _ITEM_OF_BATCH.sub("", self.field).split(".")
        return any(step.partition("[")[0] in names for step in steps)

    @property
    def item(self) -> str | None:
        """Batch item or operation with this field: ``items[3]``, ``operations[2]``."""
        found = _ITEM_OF_BATCH.match(self.field)
        return None if found is None else found[1]

    @property
    def place(self) -> int | None:
        """Number of the batch item, from 0."""
        found = _ITEM_OF_BATCH.match(self.field)
        return None if found is None else int(found[2])


class Error(Exception):
    """Base class of all errors for clients; ``fields`` lists the invalid fields, if known.

    The service reads at most ``MOST_ERRORS`` + 1 of ``fields``: the additional field shows that the response omits
    some.
    """

    code: ClassVar[str]
    sentence: ClassVar[str]

    def __init__(self, message: str | None = None, fields: Iterable[FieldError] = ()) -> None:
        self.message = message or self.sentence
        self.fields = tuple(islice(fields, MOST_ERRORS + 1))
        super().__init__(self.message)


class ValidationError(Error):
    code = "VALIDATION_ERROR"
    sentence = "The request is not valid."

    @classmethod
    def on(cls, field: str, message: str) -> "ValidationError":
        return cls(fields=(FieldError(field, message),))


class BadRequest(Error):
    code = "BAD_REQUEST"
    sentence = "The request is malformed."


class Unauthorized(Error):
    code = "UNAUTHORIZED"
    sentence = "Authentication is required."


class TokenInvalid(Unauthorized):
    code = "TOKEN_INVALID"
    sentence = "The token is not valid."


class TokenExpired(Unauthorized):
    """Expired token, session or key, or a stale token that needs a refresh."""

    code = "TOKEN_EXPIRED"
    sentence = "The token has expired."

    def __init__(self, message: str | None = None, session_id: UUID | None = None) -> None:
        """``session_id`` is the session of an access token issued here, else None."""
        super().__init__(message)
        self.session_id = session_id


class InvalidCredentials(Error):
    code = "INVALID_CREDENTIALS"
    sentence = "The e-mail or the password is wrong."


class AccountLocked(Error):
    code = "ACCOUNT_LOCKED"
    sentence = "Too many failed attempts: the account is locked for a while."


class AccountDisabled(Error):
    code = "ACCOUNT_DISABLED"
    sentence = "The account is disabled."


class EmailNotConfirmed(Error):
    code = "EMAIL_NOT_CONFIRMED"
    sentence = "The e-mail address has not been confirmed yet."


class Challenge(Struct, frozen=True, kw_only=True, rename="camel"):
    """An incomplete login: ``ticket`` finishes it, by one of ``methods``, until ``expires_at``."""

    ticket: str
    methods: tuple[str, ...]
    expires_at: datetime


class MfaRequired(Error):
    """Error for a login that needs a second factor; the first factor was correct."""

    code = "MFA_REQUIRED"
    sentence = "Show a second factor to finish."

    def __init__(self, challenge: Challenge) -> None:
        self.challenge = challenge
        super().__init__()


class MfaEnrolmentRequired(MfaRequired):
    """A second factor is required, but the account has no accepted one; ``methods`` are the accepted kinds."""

    code = "MFA_ENROLMENT_REQUIRED"
    sentence = "A second factor is required here: set one up to finish."


class ReauthenticationRequired(Error):
    """The session's last proof is too old; ``max_age`` is the maximum age in seconds."""

    code = "REAUTHENTICATION_REQUIRED"
    sentence = "Show again that it is you: this needs a proof of the last minutes."

    def __init__(self, max_age: int) -> None:
        self.max_age = max_age
        super().__init__()


class Forbidden(Error):
    code = "FORBIDDEN"
    sentence = "This is not allowed with your permissions."


class NotYours(Forbidden):
    """Error for a row that the caller sees but may not change, because it is not own."""

    sentence = "You may read this row but not change it: it is not yours."


class NotOwn(NotYours):
    """Error for a deletion of rows that are not the caller's own: ``refused``. ``found`` are the visible rows."""

    def __init__(self, found: Iterable[UUID], refused: Iterable[UUID]) -> None:
        super().__init__()
        self.found, self.refused = frozenset(found), frozenset(refused)


class QuotaExceeded(Error):
    """Exceeded quota of a tenant."""

    code = "QUOTA_EXCEEDED"
    sentence = "The tenant has as many of these as it may have."


# Security: different messages would reveal other tenants' ids.
class NotFound(Error):
    """Error for an unknown, malformed or deleted id, or an id of another tenant. All cases have the same message."""

    code = "NOT_FOUND"
    sentence = "The resource does not exist."


class MethodNotAllowed(Error):
    code = "METHOD_NOT_ALLOWED"
    sentence = "This path does not support this method."

    def __init__(self, allowed: Iterable[str]) -> None:
        self.allowed = tuple(allowed)
        super().__init__()


class Conflict(Error):
    code = "CONFLICT"
    sentence = "This conflicts with stored data."

    @classmethod
    def on(cls, field: str, message: str) -> "Conflict":
        return cls(message, fields=(FieldError(field, message),))


MOST_COUNTED = 100
"""Maximum counted referring rows per entity; beyond it an error says "more than 100"."""


class Referrer(Struct, frozen=True):
    """Rows that prevent a deletion: the plural of their entity, their referring fields, and their number.

    A number above ``MOST_COUNTED`` may be too small.
    """

    plural: str
    fields: tuple[str, ...]
    count: int


class StillReferredTo(Conflict):
    """Error for a deletion prevented by ``restrict``.

    ``found`` has the existing ids among the rows to delete. ``by`` maps each referenced id to its referring rows,
    without rows of other tenants.
    """

    sentence = "Something still refers to it."

    @staticmethod
    def counted(rows: Iterable[tuple[UUID, str, UUID, str | None]]) -> Iterator[tuple[UUID, Referrer | None]]:
        """Count referrers of rows: referenced id, plural, id and field of each; None for another tenant's."""
        fields: dict[tuple[UUID, str, UUID], set[str]] = {}
        for row_id, plural, referring, field in rows:
            if field is None:
                yield row_id, None
            else:
                fields.setdefault((row_id, plural, referring), set()).add(field)
        counts = Counter((row_id, plural, tuple(sorted(names))) for (row_id, plural, _), names in fields.items())
        for (row_id, plural, names), count in counts.items():
            yield row_id, Referrer(plural, names, count)

    def __init__(self, found: Iterable[UUID], referred: Iterable[tuple[UUID, Referrer | None]]) -> None:
        super().__init__()
        self.found = frozenset(found)
        self.by: dict[UUID, set[Referrer]] = {}
        for row_id, referrer in referred:
            self.by.setdefault(row_id, set()).update([] if referrer is None else [referrer])


class PreconditionFailed(Error):
    code = "PRECONDITION_FAILED"
    sentence = "The row has changed since you read it: read it again."


class CursorExpired(Error):
    """The entries after a cursor are no longer stored, or the cursor is of another epoch."""

    code = "CURSOR_EXPIRED"
    sentence = "The changes after this cursor are not stored any more: load the rows again."


class PayloadTooLarge(Error):
    code = "PAYLOAD_TOO_LARGE"
    sentence = "The body is too large."


class UnsupportedMediaType(Error):
    code = "UNSUPPORTED_MEDIA_TYPE"
    sentence = "This content type is not supported here."


class UnprocessableEntity(Error):
    code = "UNPROCESSABLE_ENTITY"
    sentence = "A business rule of the entity refuses this."


class RateLimited(Error):
    code = "RATE_LIMITED"
    sentence = "Too many requests."

    def __init__(self, retry_after: int, message: str | None = None) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class TooBusy(Error):
    """The queue of password hashes is full: no password was checked and no attempt counted."""

    code = "RATE_LIMITED"
    sentence = "Too many logins at this moment: try again in a second."


class ServiceUnavailable(Error):
    code = "SERVICE_UNAVAILABLE"
    sentence = "The service cannot answer this now: try again shortly."


class SerializationConflict(ServiceUnavailable):
    """The transaction was rolled back because of a concurrent one: nothing is stored; retry at once."""


class InternalError(Error):
    code = "INTERNAL_ERROR"
    sentence = "Something went wrong on our side."


def bound_hints() -> None:
    """Limit the hints of the current request: each costs a comparison with every known name."""
    _hints_left.set(iter(range(MOST_HINTS)))


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the nearest known name as a hint.

    Only the first ``MOST_HINTS`` names of a request get a hint, and only names of at most ``LONGEST_HINTED``
    characters.

    Example: ``unknown_name("pagesize", ["pageSize"])`` is ``"is not known; did you mean 'pageSize'?"``.
    """
    hints_left = _hints_left.get()
    if len(name) > LONGEST_HINTED or (hints_left is not None and next(hints_left, None) is None):
        return "is not known"
    near = nearest(name, known)
    return "is not known" if near is None else f"is not known; did you mean {near!r}?"


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to ``name``, if any is."""
    by_case = {known_name.lower(): known_name for known_name in known}
    # Compare without case, as parameter names are matched.
    near = difflib.get_close_matches(name.lower(), by_case, n=1)
    return by_case[near[0]] if near else None
