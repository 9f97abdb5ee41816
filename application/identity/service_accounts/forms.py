"""Bodies and answers of service accounts and their API keys."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from typing import Annotated
from uuid import UUID

from msgspec import UNSET, Meta, Struct, UnsetType

from application.ports.identity.service_accounts import ListedServiceAccount
from domain.errors import FieldError, ValidationError
from domain.forms import documented, text_errors
from domain.identity.administration import ServiceAccountRights, service_account_rights
from domain.identity.service_accounts import NETWORKS_PER_KEY, PERMISSIONS_PER_KEY, ApiKey
from domain.scope import PERMISSION_HINT, Caller, is_permission

NAME_LENGTH = 100
DESCRIPTION_LENGTH = 1_000

AccountName = Annotated[str, documented(1, NAME_LENGTH)]
Description = Annotated[str, documented(most=DESCRIPTION_LENGTH)]
DAY_MINUTES = 1_440
LONGEST_OVERLAP = 7 * DAY_MINUTES

LAST_MOMENT = datetime(9999, 12, 31, 23, 59, 59, 999_999, UTC)
"""Latest end of a key: PostgreSQL supports later times, Python does not."""

SORTABLE_ACCOUNTS = {"createdAt": "created_at", "name": "name", "isActive": "is_active"}


class ServiceAccountForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    name: AccountName
    description: Description = ""
    roles: list[str]


class ServiceAccountChange(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a change; omitted fields stay."""

    name: AccountName | UnsetType = UNSET
    description: Description | UnsetType = UNSET
    roles: list[str] | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET


class ServiceAccountItem(Struct, rename="camel", kw_only=True):
    """An account: ``keys`` counts live keys, ``next_key_ends_at`` is the first end of a live key, ``last_used_at`` the
    last use of any key.
    """

    id: UUID
    name: str
    description: str
    roles: tuple[str, ...]
    is_active: bool
    created_at: datetime
    created_by: UUID | None
    last_used_at: datetime | None
    keys: int
    next_key_ends_at: datetime | None
    may: ServiceAccountRights


class ServiceAccountPage(Struct, rename="camel", kw_only=True):
    items: list[ServiceAccountItem]
    total_count: int
    page: int
    page_size: int
    total_pages: int


class KeyForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a new key.

    Without ``permissions`` the key has all of its account's, without ``networks`` it works from any network.
    """

    name: AccountName
    permissions: list[str] | None = None
    networks: list[str] | None = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None


class RotationForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """Body of a rotation: the minutes that the old key remains valid."""

    overlap_minutes: Annotated[int, Meta(ge=0, le=LONGEST_OVERLAP)] = DAY_MINUTES


USUAL_ROTATION = RotationForm()


class ApiKeyItem(Struct, rename="camel", kw_only=True):
    """A key without its secret; ``start`` has its first characters for recognition."""

    id: UUID
    name: str
    start: str
    permissions: tuple[str, ...] | None
    networks: tuple[str, ...] | None
    created_at: datetime
    created_by: UUID | None
    expires_at: datetime | None
    last_used_at: datetime | None
    last_used_address: str | None


class NewKey(ApiKeyItem, rename="camel", kw_only=True):
    """A new key with its text, shown only once."""

    key: str


def ensure_valid_account(form: ServiceAccountForm | ServiceAccountChange) -> None:
    """Raise ValidationError with every invalid field."""
    errors = [] if form.name is UNSET else name_errors(form.name)
    if form.description is not UNSET:
        errors += text_errors("description", form.description, 0, DESCRIPTION_LENGTH)
    if errors:
        raise ValidationError(fields=errors)


def ensure_valid_key(form: KeyForm, now: datetime, longest: timedelta | None) -> None:
    """Raise ValidationError with every invalid field; ``longest`` is the greatest lifetime, None without one."""
    errors = [*name_errors(form.name), *_permission_errors(form.permissions), *_network_errors(form.networks)]
    if form.expires_at is not None and not now < form.expires_at <= LAST_MOMENT:
        errors.append(FieldError("expiresAt", "must be a time in the future, before the year 10000 in UTC"))
    elif form.expires_at is not None and longest is not None and form.expires_at > now + longest:
        errors.append(FieldError("expiresAt", f"must be a time within {longest.days} days"))
    if errors:
        raise ValidationError(fields=errors)


def name_errors(name: str) -> list[FieldError]:
    errors = text_errors("name", name, 1, NAME_LENGTH)
    if not errors and name != name.strip():
        return [FieldError("name", "must not begin or end with white space")]
    return errors


def _permission_errors(permissions: list[str] | None) -> list[FieldError]:
    if permissions is None:
        return []
    if not 1 <= len(permissions) <= PERMISSIONS_PER_KEY:
        message = f"accepts 1 to {PERMISSIONS_PER_KEY} permissions; omit it for those of the account"
        return [FieldError("permissions", message)]
    wrong = (index for index, name in enumerate(permissions) if not is_permission(name))
    return [FieldError(f"permissions[{index}]", PERMISSION_HINT) for index in wrong]


def _network_errors(networks: list[str] | None) -> list[FieldError]:
    if networks is None:
        return []
    if not 1 <= len(networks) <= NETWORKS_PER_KEY:
        return [FieldError("networks", f"accepts 1 to {NETWORKS_PER_KEY} networks; omit it for any address")]
    wrong = (index for index, text in enumerate(networks) if not _is_network(text))
    hint = "must be an address or a network in CIDR form, such as 192.0.2.0/24 or 2001:db8::/32"
    return [FieldError(f"networks[{index}]", hint) for index in wrong]


def _is_network(text: str) -> bool:
    try:
        # A zone (fe80::1%eth0) is local to a machine, and PostgreSQL has no type for it.
        return "%" not in text and ip_network(text) is not None
    except ValueError:
        return False


def account_item(found: ListedServiceAccount, caller: Caller) -> ServiceAccountItem:
    account = found.account
    return ServiceAccountItem(
        id=account.id,
        name=account.name,
        description=account.description,
        roles=tuple(sorted(role.name for role in account.roles)),
        is_active=account.is_active,
        created_at=account.created_at,
        created_by=account.created_by,
        last_used_at=found.last_used_at,
        keys=found.keys,
        next_key_ends_at=found.next_end,
        may=service_account_rights(caller, account.roles),
    )


def key_item(key: ApiKey) -> ApiKeyItem:
    """Return the key as shown; a rotated key expires at the end of its overlap."""
    return ApiKeyItem(
        id=key.id,
        name=key.name,
        start=key.start,
        permissions=key.permissions,
        networks=key.networks,
        created_at=key.created_at,
        created_by=key.created_by,
        expires_at=key.ends_at,
        last_used_at=key.last_used_at,
        last_used_address=key.last_used_address,
    )


def new_key(key: ApiKey, text: str) -> NewKey:
    item = key_item(key)
    return NewKey(key=text, **{name: getattr(item, name) for name in item.__struct_fields__})
