"""Bodies and results of the endpoints of second factors."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from application.ports.identity.factors import Factor
from domain.errors import ValidationError
from domain.forms import text_errors
from domain.identity.factors import FACTOR_NAME_LENGTH
from domain.identity.users import FactorKind, Method

Name = Annotated[str, Meta(min_length=1, max_length=FACTOR_NAME_LENGTH)]
Assertion = dict[str, Any]
"""A credential as JSON from the browser (WebAuthn Level 3, ``toJSON``)."""


class EmptyForm(Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """A body without fields: ``{}``."""


EMPTY = EmptyForm()


class VerifyForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A second factor: ``code`` of an app or a recovery code, or a passkey's ``state`` and ``response``."""

    ticket: str
    method: Method
    code: str | UnsetType = UNSET
    state: str | UnsetType = UNSET
    response: Assertion | UnsetType = UNSET


class TicketForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    ticket: str


class EnrolForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    ticket: str
    kind: FactorKind


class FinishForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Completion of an enrolment: ``code`` of the new app, or ``response`` of the new passkey."""

    state: str
    code: str | UnsetType = UNSET
    response: Assertion | UnsetType = UNSET
    name: Name | UnsetType = UNSET


class EnrolFinishForm(FinishForm, rename="camel", forbid_unknown_fields=True, kw_only=True):
    ticket: str


class FactorForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    name: Name


class Begun(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """Start of an enrolment for an app or a browser, which sends ``state`` back.

    ``secret``, ``uri`` and ``qrSvg`` are one secret in three forms, for an app; ``options`` are for a passkey.
    """

    state: str
    secret: str | UnsetType = UNSET
    uri: str | UnsetType = UNSET
    qr_svg: str | UnsetType = UNSET
    options: dict[str, Any] | UnsetType = UNSET


class FactorItem(Struct, rename="camel", kw_only=True):
    """Factor in the list; ``isSynced`` marks a passkey stored on several devices."""

    id: UUID
    kind: FactorKind
    name: str
    created_at: datetime
    last_used_at: datetime | None
    is_synced: bool | UnsetType = UNSET


class NewFactorItem(FactorItem, rename="camel", kw_only=True):
    """A new factor; the first one comes with recovery codes, shown only once."""

    recovery_codes: list[str] | UnsetType = UNSET


class FactorList(Struct, rename="camel", kw_only=True):
    """Factors in area A's envelope, and the number of unused recovery codes."""

    is_success: bool = True
    data: list[FactorItem]
    recovery_codes_left: int


class NewRecoveryCodes(Struct, rename="camel", kw_only=True):
    recovery_codes: list[str]


class RelatedOrigins(Struct):
    """Origins that may use this service's passkeys (WebAuthn Level 3, related origin requests)."""

    origins: list[str]


def ensure_valid_name(name: str | UnsetType) -> None:
    """Raise ValidationError on ``name``, by the rules for people's names."""
    if errors := [] if name is UNSET else text_errors("name", name, 1, FACTOR_NAME_LENGTH):
        raise ValidationError(fields=errors)


def wrong_ticket(field: str) -> ValidationError:
    """Return the one error for a wrong, used or expired ticket or state."""
    return ValidationError.on(field, "is wrong, was used, or has expired: begin again")


def factor_item(factor: Factor) -> FactorItem:
    return FactorItem(**item_fields(factor))


def item_fields(factor: Factor) -> dict[str, Any]:
    return {
        "id": factor.id,
        "kind": factor.kind,
        "name": factor.name,
        "created_at": factor.created_at,
        "last_used_at": factor.last_used_at,
        "is_synced": factor.credential.backed_up if factor.credential else UNSET,
    }
