"""Errors of the specification, one class per error code; ``adapters/http`` alone maps them to HTTP statuses."""

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
"""Most invalid fields that an error lists: a body may have a million of them."""
MOST_HINTS = 10
LONGEST_HINTED = 100

_hints_left: ContextVar[Iterator[int] | None] = ContextVar("_hints_left", default=None)

_ITEM_OF_BATCH = re.compile(r"^(items\[([0-9]+)\])\.")


class FieldError(Struct, frozen=True):
    """An invalid field: its wire name (``items[3].price``) and a sentence that says what it takes."""

    field: str
    message: str

    def is_about(self, names: Collection[str]) -> bool:
        """Whether the field is one of these, an item of it or in it: ``words``, ``words[0]``, ``items[3].words[0]``."""
        # an item of a batch is no field, and an entity may have a field of that name
        steps = _ITEM_OF_BATCH.sub("", self.field).split(".")
        return any(step.partition("[")[0] in names for step in steps)

    @property
    def item(self) -> str | None:
        """The item of a batch whose field this is: ``items[3]``."""
        found = _ITEM_OF_BATCH.match(self.field)
        return None if found is None else found[1]

    @property
    def place(self) -> int | None:
        """The number of that item, from 0."""
        found = _ITEM_OF_BATCH.match(self.field)
        return None if found is None else int(found[2])


class Error(Exception):
    """Base of all errors that a client is told; ``fields`` lists the invalid fields where they are known.

    ``fields`` is read up to one more than ``MOST_ERRORS``, which shows that there are more than an answer lists.
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
    """A token, session or key that has expired, or a token that is stale and needs a refresh."""

    code = "TOKEN_EXPIRED"
    sentence = "The token has expired."

    def __init__(self, message: str | None = None, session_id: UUID | None = None) -> None:
        """``session_id`` is the session of an access token that was issued here; None for every other token."""
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
    """A login that is not complete: ``ticket`` finishes it, by one of ``methods``, until ``expires_at``."""

    ticket: str
    methods: tuple[str, ...]
    expires_at: datetime


class MfaRequired(Error):
    """The first factor was right; there is no session and no token before the second one is."""

    code = "MFA_REQUIRED"
    sentence = "Show a second factor to finish."

    def __init__(self, challenge: Challenge) -> None:
        self.challenge = challenge
        super().__init__()


class MfaEnrolmentRequired(MfaRequired):
    """A second factor is required, and the account has none that counts; ``methods`` are those that would."""

    code = "MFA_ENROLMENT_REQUIRED"
    sentence = "A second factor is required here: set one up to finish."


class ReauthenticationRequired(Error):
    """The session was proved too long ago for this; ``max_age`` is the greatest age, in seconds."""

    code = "REAUTHENTICATION_REQUIRED"
    sentence = "Show again that it is you: this needs a proof of the last minutes."

    def __init__(self, max_age: int) -> None:
        self.max_age = max_age
        super().__init__()


class Forbidden(Error):
    code = "FORBIDDEN"
    sentence = "This is not allowed with your permissions."


class QuotaExceeded(Error):
    """More of something than a tenant may have."""

    code = "QUOTA_EXCEEDED"
    sentence = "The tenant has as many of these as it may have."


# Security: different messages would tell a caller which ids exist in other tenants.
class NotFound(Error):
    """An id that is unknown, malformed, deleted or another tenant's; the message never says which."""

    code = "NOT_FOUND"
    sentence = "There is no such resource."


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
"""Rows that refer to a row and are counted, of each entity: of more an error says "more than 100"."""


class Referrer(Struct, frozen=True):
    """Rows that forbid a deletion: their entity's plural, the fields by which each of them refers, and their number.

    Beyond ``MOST_COUNTED`` the number may be too small.
    """

    plural: str
    fields: tuple[str, ...]
    count: int


class StillReferredTo(Conflict):
    """A deletion that ``restrict`` forbids.

    ``found`` are the ids of the rows to delete that exist. ``by`` has those of them that are still referred to, with
    the rows that refer; rows of other tenants are left out.
    """

    sentence = "Something still refers to it."

    @staticmethod
    def counted(rows: Iterable[tuple[UUID, str, UUID, str | None]]) -> Iterator[tuple[UUID, Referrer | None]]:
        """Referrers of rows: the id that is referred to, plural, id and field of each; None for another tenant's."""
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
    """The queue of password hashes is full: no password was checked and no attempt was counted."""

    code = "RATE_LIMITED"
    sentence = "Too many logins at this moment: try again in a second."


class ServiceUnavailable(Error):
    code = "SERVICE_UNAVAILABLE"
    sentence = "The service cannot answer this now: try again shortly."


class SerializationConflict(ServiceUnavailable):
    """The transaction was rolled back because of a concurrent one: nothing is stored, and it can be retried at once."""


class InternalError(Error):
    code = "INTERNAL_ERROR"
    sentence = "Something went wrong on our side."


def bound_hints() -> None:
    """Limits the hints that the current request makes: each costs a comparison with every known name."""
    _hints_left.set(iter(range(MOST_HINTS)))


def unknown_name(name: str, known: Iterable[str]) -> str:
    """The message for an unknown name, with the nearest known one as a hint.

    The first ``MOST_HINTS`` names of a request get a hint, and none that is longer than ``LONGEST_HINTED``.

    Example: ``unknown_name("pagesize", ["pageSize"])`` is ``"is not known; did you mean 'pageSize'?"``.
    """
    hints_left = _hints_left.get()
    if len(name) > LONGEST_HINTED or (hints_left is not None and next(hints_left, None) is None):
        return "is not known"
    by_case = {known_name.lower(): known_name for known_name in known}
    # Case is ignored in the comparison, since names of parameters are matched without it.
    near = difflib.get_close_matches(name.lower(), by_case, n=1)
    return f"is not known; did you mean {by_case[near[0]]!r}?" if near else "is not known"
