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
"""A credential as browsers make JSON of it (WebAuthn Level 3, ``toJSON``)."""


class EmptyForm(Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """A body without fields: ``{}``."""


EMPTY = EmptyForm()


class VerifyForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A second factor: ``code`` of an app or a recovery code, or ``state`` and ``response`` of a passkey."""

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
    """The end of what was begun: ``code`` of the new app, or ``response`` of the new passkey."""

    state: str
    code: str | UnsetType = UNSET
    response: Assertion | UnsetType = UNSET
    name: Name | UnsetType = UNSET


class EnrolFinishForm(FinishForm, rename="camel", forbid_unknown_fields=True, kw_only=True):
    ticket: str


class FactorForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    name: Name


class Begun(Struct, rename="camel", kw_only=True, omit_defaults=True):
    """What an app or a browser needs to go on: ``state`` comes back with its answer.

    ``secret``, ``uri`` and ``qrSvg`` are one secret in three forms, for an app; ``options`` are for a passkey.
    """

    state: str
    secret: str | UnsetType = UNSET
    uri: str | UnsetType = UNSET
    qr_svg: str | UnsetType = UNSET
    options: dict[str, Any] | UnsetType = UNSET


class FactorItem(Struct, rename="camel", kw_only=True):
    """A factor in the list; ``isSynced`` says of a passkey whether it is kept on several devices."""

    id: UUID
    kind: FactorKind
    name: str
    created_at: datetime
    last_used_at: datetime | None
    is_synced: bool | UnsetType = UNSET


class NewFactorItem(FactorItem, rename="camel", kw_only=True):
    """A factor that was set up; with the first one come recovery codes, shown this once."""

    recovery_codes: list[str] | UnsetType = UNSET


class FactorList(Struct, rename="camel", kw_only=True):
    """Factors in area A's envelope, and the number of recovery codes that were not used."""

    is_success: bool = True
    data: list[FactorItem]
    recovery_codes_left: int


class NewRecoveryCodes(Struct, rename="camel", kw_only=True):
    recovery_codes: list[str]


class RelatedOrigins(Struct):
    """Origins that may use this service's passkeys (WebAuthn Level 3, related origin requests)."""

    origins: list[str]


def ensure_valid_name(name: str | UnsetType) -> None:
    """Raises ValidationError on ``name``, which holds what the names of people hold."""
    if errors := [] if name is UNSET else text_errors("name", name, 1, FACTOR_NAME_LENGTH):
        raise ValidationError(fields=errors)


def wrong_ticket(field: str) -> ValidationError:
    """The error for a ticket or a state that is wrong, used or expired; the message does not tell which."""
    return ValidationError.on(field, "is wrong, was used, or has expired: begin anew")


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
