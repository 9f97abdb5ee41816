"""Users, their roles and memberships, and their tenants."""

import re
import unicodedata
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Literal
from uuid import UUID, uuid5

from msgspec import UNSET, Struct, UnsetType, field

from domain.errors import AccountDisabled, EmailNotConfirmed, FieldError
from domain.forms import documented, is_blank, text_errors
from domain.scope import ALL_PERMISSIONS, SYSTEM_TENANT_ID


class Branding(Struct, frozen=True, kw_only=True, rename="camel"):
    """Visual identity of a tenant; ``primary_color`` is ``#rrggbb``."""

    name: str | None = None
    logo_url: str | None = None
    primary_color: str | None = None
    support_email: str | None = None


FactorKind = Literal["totp", "passkey"]
Method = Literal["passkey", "totp", "recovery"]

FACTOR_KINDS: tuple[FactorKind, ...] = ("passkey", "totp")


class TenantSecurity(Struct, frozen=True, kw_only=True, rename="camel"):
    """Security settings of a tenant for its members' logins, in addition to the service's.

    Empty ``mfa_methods`` accept every one. ``required_since`` is when ``require_mfa`` was turned on: the grace period
    begins then, or when a member joins. ``session_days`` and ``idle_days`` only shorten the service's.
    """

    require_mfa: bool = False
    mfa_methods: tuple[Method, ...] = ()
    mfa_grace_days: int = 0
    session_days: int | None = None
    idle_days: int | None = None
    required_since: datetime | None = None


class TenantSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """Settings of a tenant; answers omit ``security`` until it is set."""

    timezone: str = "UTC"
    language: str = "en-US"
    currency: str = "USD"
    enabled_features: tuple[str, ...] = ()
    custom_settings: dict[str, object] = field(default_factory=dict)
    # Omitted from answers until set.
    branding: Branding | UnsetType = UNSET
    security: TenantSecurity | UnsetType = UNSET

    @property
    def own_security(self) -> TenantSecurity | None:
        return None if self.security is UNSET else self.security


class Tenant(Struct, frozen=True, kw_only=True, rename="camel"):
    id: UUID
    name: str
    identifier: str
    domain: str | None = None
    is_active: bool = True
    created_at: datetime
    settings: TenantSettings = field(default_factory=TenantSettings)


SUPER_ADMIN = "SuperAdmin"
ADMIN = "Admin"
MEMBER = "Member"
SHIPPED_ROLES = {SUPER_ADMIN: (ALL_PERMISSIONS,), ADMIN: (ALL_PERMISSIONS,), MEMBER: ()}
"""System roles that the first start creates, with their permissions."""


@cache
def shipped_role_id(name: str) -> UUID:
    """Return the id of a shipped role, the same in every installation."""
    return uuid5(SYSTEM_TENANT_ID, name)


PASSWORD_LENGTH = (8, 128)
TYPED_LENGTH = 4 * PASSWORD_LENGTH[1]
"""Maximum code points of a typed password before NFKC composes them: a letter and three marks each."""

EMAIL_LENGTH = 254
NAME_LENGTH = 200
PHONE_LENGTH = 50

AccountEmail = Annotated[str, documented(most=EMAIL_LENGTH, format="idn-email")]
FullName = Annotated[str, documented(1, NAME_LENGTH)]
NewPassword = Annotated[str, documented(PASSWORD_LENGTH[0], format="password")]
"""Plain or encrypted. The document has no upper bound, because an encrypted password is longer."""
PhoneNumber = Annotated[str, documented(most=PHONE_LENGTH)]

LABEL_LENGTH = 63
"""Maximum characters of a domain label (RFC 1035)."""
_DOTS = re.compile("[.\u3002\uff0e\uff61]")  # dots of UTS 46
_HOST = re.compile(r"[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*")
_PUNCTUATION = frozenset('()<>[]:;@\\,"')
"""Characters that need quotes before the ``@``; unquoted, they could name another recipient in a header."""


class User(Struct, frozen=True, kw_only=True, rename="camel"):
    """A user account.

    ``email`` is the address as entered; ``email_key`` is its normal form for comparisons. ``email_proved`` means that
    the owner has opened a link sent to the address, or that a social provider vouched for it. An account created by an
    administrator is confirmed but not proved, so linking it to a social identity is unsafe. ``email_proved_at`` is None
    for proofs older than this field.
    """

    id: UUID
    email: str
    email_key: str
    full_name: str
    phone_number: str | None = None
    profile_picture_url: str | None = None
    password_hash: str | None = None
    email_confirmed: bool = False
    email_proved: bool = False
    is_active: bool = True
    must_change_password: bool = False
    password_set_at: datetime | None = None
    created_at: datetime
    updated_at: datetime
    last_login_at: datetime | None = None
    email_proved_at: datetime | None = None


# Security: call only after a password or session check, so that strangers learn nothing.
def ensure_may_sign_in(user: User, *, confirmation_required: bool) -> None:
    """Raise AccountDisabled or EmailNotConfirmed."""
    if not user.is_active:
        raise AccountDisabled
    if confirmation_required and not user.email_confirmed:
        raise EmailNotConfirmed


def days_until_expiration(user: User, max_age_days: int, now: datetime) -> int | None:
    """Return the days until the password expires, today included; 0 afterwards, None without expiry."""
    if max_age_days == 0 or user.password_set_at is None:
        return None
    remaining = user.password_set_at + timedelta(days=max_age_days) - now
    return max(0, -(-remaining // timedelta(days=1)))


def must_change_password(user: User, max_age_days: int, now: datetime) -> bool:
    return user.must_change_password or days_until_expiration(user, max_age_days, now) == 0


class Role(Struct, frozen=True, kw_only=True, rename="camel"):
    """A named set of permissions; ``tenant_id`` is None for a system role, shared by all tenants."""

    id: UUID
    tenant_id: UUID | None
    name: str
    description: str = ""
    permissions: tuple[str, ...] = ()

    @property
    def is_system(self) -> bool:
        return self.tenant_id is None


class Membership(Struct, frozen=True, kw_only=True, rename="camel"):
    """A user's membership in a tenant, with its roles and login requirements; an owner may transfer the tenant.

    ``sessions_ended_at`` is when an administrator last ended all of the user's sessions there.
    """

    tenant_id: UUID
    tenant_name: str
    tenant_identifier: str
    tenant_is_active: bool
    is_default: bool
    joined_at: datetime
    roles: tuple[Role, ...] = ()
    is_owner: bool = False
    security: TenantSecurity | None = None
    sessions_ended_at: datetime | None = None


class TenantName(Struct, rename="camel", kw_only=True):
    """A tenant in the list of its members."""

    id: UUID
    name: str
    is_default: bool


def tenant_name(membership: Membership) -> TenantName:
    return TenantName(id=membership.tenant_id, name=membership.tenant_name, is_default=membership.is_default)


class OwnFactors(Struct, frozen=True, kw_only=True, rename="camel"):
    """Kinds of an account's factors; ``recovery``: a recovery code is left."""

    totp: bool = False
    passkey: bool = False
    recovery: bool = False

    @property
    def kinds(self) -> tuple[FactorKind, ...]:
        return tuple(kind for kind in FACTOR_KINDS if getattr(self, kind))

    @property
    def methods(self) -> tuple[Method, ...]:
        """Available methods of the account, strongest first. Recovery codes are not factors."""
        return (*self.kinds, "recovery") if self.recovery and self.kinds else self.kinds


class AccountState(Struct, frozen=True, kw_only=True):
    """All data that determines a user's rights, read in one snapshot.

    ``roles`` are the system roles held outside memberships; ``token_versions`` are those of all subjects named here.
    """

    user: User
    memberships: tuple[Membership, ...]
    roles: tuple[Role, ...]
    token_versions: dict[str, int]
    factors: OwnFactors = OwnFactors()

    @property
    def is_super_admin(self) -> bool:
        return any(role.is_system and role.name == SUPER_ADMIN for role in self.roles)

    def membership_in(self, tenant_id: UUID | None) -> Membership | None:
        return next((held for held in self.memberships if held.tenant_id == tenant_id), None)

    def roles_in(self, membership: Membership) -> tuple[Role, ...]:
        return tuple({role.id: role for role in (*membership.roles, *self.roles)}.values())


def email_key(text: str) -> str | None:
    """Return the normal form of an address for comparisons, or None if the address is invalid or folds to another one.

    The form is trimmed and in NFC, with the local part in lower case and the domain as IDNA 2008 (UTS 46, not
    transitional): ``" Ada@Bücher.example "`` becomes ``ada@xn--bcher-kva.example``, and ``ß`` is not ``ss``.
    """
    parts = _parts(text)
    if parts is None:
        return None
    local, host = parts
    # Security: ``straße``, ``ﬁnn`` or ``ſam`` would be another user's address if letters are folded.
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", local).casefold())
    return f"{folded}@{host}" if folded == local.lower() else None


def attempts_key(text: str) -> str:
    """Return the name for counting attempts with a text sent as an address.

    Invalid addresses count too, under a form of no account.
    """
    return email_key(text) or text.strip()[:EMAIL_LENGTH]


def guesses_of(user_id: UUID) -> str:
    """Return the key for counting guesses of the user's second factor, separate from the password's key."""
    return f"mfa:{user_id}"


def mailbox_key(address_key: str) -> str:
    """Return the mailbox address of a normal address: ``ada+news@acme.example`` is ``ada@acme.example``.

    This merges the two even on servers without plus addressing.
    """
    local, _, domain = address_key.rpartition("@")
    return f"{local.partition('+')[0] or local}@{domain}"


def is_address(text: str) -> bool:
    """Return whether mail can be sent to the text, possibly an older address now invalid for registration."""
    return _parts(text) is not None


def mailbox(text: str) -> tuple[str, str] | None:
    """Return the address to send mail to: the local part as written and the domain in ASCII (IDNA 2008); None if
    invalid.

    IDNA 2003 would send the mail for ``straße.example`` to ``strasse.example``.
    """
    parts = _parts(text)
    return None if parts is None else (text.strip().rpartition("@")[0], parts[1])


def is_same_address(text: str, other: str) -> bool:
    """Return whether the addresses are equal except for ASCII case: other services guarantee no more."""
    return text.strip().encode().lower() == other.strip().encode().lower()


def _parts(text: str) -> tuple[str, str] | None:
    """The local part in NFC and the domain in ASCII."""
    # Check the length first: the time for normalisation grows with the square of the number of combining marks.
    if len(text := text.strip()) > EMAIL_LENGTH:
        return None
    address = unicodedata.normalize("NFC", text)
    local, at, domain = address.rpartition("@")
    if not at or not local or len(address) > EMAIL_LENGTH or any(is_blank(char) for char in address):
        return None
    # Security: unquoted, these characters could name another recipient in a mail header.
    if not _PUNCTUATION.isdisjoint(local):
        return None
    host = _ascii_host(domain)
    return (local, host) if host is not None and _HOST.fullmatch(host) else None


def _ascii_host(domain: str) -> str | None:
    host = domain.lower()
    if host.isascii() and "xn--" not in host:
        return host
    # An IDNA label is never shorter in ASCII: refuse longer ones before the quadratic work.
    if any(len(label) > LABEL_LENGTH for label in _DOTS.split(domain)):
        return None
    import idna  # noqa: PLC0415  # its tables are needed by few addresses

    try:
        return idna.encode(domain, uts46=True, std3_rules=True, transitional=False).decode("ascii")
    except UnicodeError:
        return None


def normal_password(text: str) -> str:
    """Return the password in NFKC, so that the same characters from different keyboards match (NIST SP 800-63B).

    The function does not normalise a text of more than TYPED_LENGTH characters, because no password is that long.
    """
    return unicodedata.normalize("NFKC", text) if len(text) <= TYPED_LENGTH else text


def new_account_errors(email: str, full_name: str, phone_number: str | None = None) -> list[FieldError]:
    """Return errors of every invalid field of a new account except the password, by JSON name."""
    errors = text_errors("fullName", full_name, 1, NAME_LENGTH)
    errors += text_errors("phoneNumber", phone_number, 0, PHONE_LENGTH)
    if email_key(email) is None:
        errors.append(FieldError("email", "is not an e-mail address"))
    return errors
