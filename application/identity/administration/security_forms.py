"""Security settings of a tenant for logins into it, changed by its administrators."""

from collections.abc import Iterator
from datetime import datetime

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from domain.errors import FieldError
from domain.identity.factors import NO_SECURITY, changed_security
from domain.identity.users import Method, TenantSecurity

MOST_DAYS = 3_650


class SecurityForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Security settings to change. Omitted fields stay; null restores the service's session days."""

    require_mfa: bool | UnsetType = UNSET
    mfa_methods: list[Method] | UnsetType = UNSET
    mfa_grace_days: int | UnsetType = UNSET
    session_days: int | None | UnsetType = UNSET
    idle_days: int | None | UnsetType = UNSET


def security_errors(form: SecurityForm) -> Iterator[FieldError]:
    """Return the errors of every invalid field, by JSON name."""
    methods = form.mfa_methods
    if methods is not UNSET and methods and set(methods) == {"recovery"}:
        yield FieldError(
            "security.mfaMethods", "needs passkey or totp in addition to recovery, which only replaces them"
        )
    for name, shortest in (("mfa_grace_days", 0), ("session_days", 1), ("idle_days", 1)):
        days = getattr(form, name)
        if isinstance(days, int) and not shortest <= days <= MOST_DAYS:
            first, _, last = name.partition("_")
            wire = {"mfa_grace_days": "mfaGraceDays"}.get(name, first + last.title())
            yield FieldError(f"security.{wire}", f"must be {shortest} to {MOST_DAYS} days")


def asked_security(before: TenantSecurity | UnsetType, form: SecurityForm, now: datetime) -> TenantSecurity:
    """Return the settings ``before``, or the defaults, changed by the form."""
    old = NO_SECURITY if before is UNSET else before
    sent = {name: value for name, value in asdict(form).items() if value is not UNSET}
    if "mfa_methods" in sent:
        sent["mfa_methods"] = tuple(sorted(set(sent["mfa_methods"])))
    return changed_security(old, replace(old, **sent), now)
