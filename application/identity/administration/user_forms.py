"""Bodies and responses of the user endpoints, with their checks."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, TypedDict
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from domain.errors import FieldError, ValidationError
from domain.forms import documented, text_errors, url_errors
from domain.identity.administration import AccountRights
from domain.identity.users import (
    NAME_LENGTH,
    PHONE_LENGTH,
    AccountEmail,
    FullName,
    NewPassword,
    PhoneNumber,
    TenantName,
    User,
    email_key,
    new_account_errors,
)

URL_LENGTH = 2_000


class NewUserForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: AccountEmail
    password: NewPassword
    full_name: FullName
    roles: list[str] = []
    send_welcome_email: bool = False


class UserForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a change; missing fields retain their value."""

    full_name: FullName | UnsetType = UNSET
    phone_number: PhoneNumber | None | UnsetType = UNSET
    profile_picture_url: Annotated[str, documented(most=URL_LENGTH)] | None | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET
    roles: list[str] | UnsetType = UNSET
    email: AccountEmail | UnsetType = UNSET


class RolesForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    role_names: list[str]


class UserItem(Struct, rename="camel", kw_only=True):
    id: UUID
    email: str
    full_name: str
    roles: tuple[str, ...]
    is_active: bool
    created_at: datetime


class UserDetail(UserItem, rename="camel", kw_only=True):
    phone_number: str | None
    profile_picture_url: str | None
    email_confirmed: bool
    is_locked: bool
    locked_until: datetime | None
    second_factors_locked_until: datetime | None
    must_change_password: bool
    last_login_at: datetime | None
    updated_at: datetime
    tenants: list[TenantName]
    may: AccountRights


class UserPage(Struct, rename="camel", kw_only=True):
    items: list[UserItem]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class ItemFields(TypedDict):
    """Fields of a user in every response."""

    id: UUID
    email: str
    full_name: str
    roles: tuple[str, ...]
    is_active: bool
    created_at: datetime


def item_fields(user: User, roles: Iterable[str]) -> ItemFields:
    return ItemFields(
        id=user.id,
        email=user.email,
        full_name=user.full_name,
        roles=tuple(sorted(roles)),
        is_active=user.is_active,
        created_at=user.created_at,
    )


def checked_email(email: str) -> str:
    """Return the normal form of an address. Raises ValidationError on ``email``."""
    key = email_key(email)
    if key is None:
        raise ValidationError.on("email", "is not an e-mail address")
    return key


def ensure_valid(form: NewUserForm, wrong: Iterable[FieldError]) -> None:
    """Raise ValidationError with every invalid field; ``wrong`` are errors of the password."""
    errors = [*new_account_errors(form.email, form.full_name), *wrong]
    if errors:
        raise ValidationError(fields=errors)


def changed_account(user: User, form: UserForm, now: datetime) -> User | None:
    """Return the changed account, None without changes."""
    given = {
        name: getattr(form, name)
        for name in ("full_name", "phone_number", "profile_picture_url", "is_active", "email")
        if getattr(form, name) is not UNSET
    }
    # Texts from before the current rules remain valid until they are changed, so check only changed ones.
    _ensure_texts({name: text for name, text in given.items() if text != getattr(user, name)})
    if "email" in given:
        key = checked_email(given["email"])
        given |= {"email": given["email"].strip(), "email_key": key}
        # A new address needs a new confirmation and proof.
        given["email_confirmed"] = user.email_confirmed and key == user.email_key
        given["email_proved"] = user.email_proved and key == user.email_key
        given["email_proved_at"] = user.email_proved_at if key == user.email_key else None
    changed = replace(user, **given)
    return None if changed == user else replace(changed, updated_at=now)


def _ensure_texts(given: dict[str, str | None]) -> None:
    lengths = {
        "full_name": ("fullName", 1, NAME_LENGTH),
        "phone_number": ("phoneNumber", 0, PHONE_LENGTH),
    }
    errors = [
        error
        for name, (wire, shortest, longest) in lengths.items()
        for error in text_errors(wire, given.get(name), shortest, longest)
    ]
    errors += url_errors("profilePictureUrl", given.get("profile_picture_url"), URL_LENGTH)
    if errors:
        raise ValidationError(fields=errors)
