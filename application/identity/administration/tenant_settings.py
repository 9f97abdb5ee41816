"""Settings of a tenant that its own administrators change."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from application.identity.administration.tenant_forms import SettingsForm, settings_errors
from application.ports.database import Database
from application.ports.identity.tenants import TenantTransaction
from application.ports.runtime import Clock
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import FieldError, NotFound, ValidationError
from domain.identity.factors import NO_SECURITY, FactorKind, TenantSecurity, changed_security
from domain.identity.tokens import Lifetimes, tenant_subject
from domain.identity.users import Branding, Tenant, TenantSettings, is_address, text_errors, url_errors
from domain.scope import Caller, Client, EveryTenant, event

GRACE_DAYS = 90
BRAND_LENGTH, LOGO_LENGTH, EMAIL_LENGTH = 60, 2_000, 254
_COLOR = re.compile("#[0-9a-fA-F]{6}")


class BrandingForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Fields sent change, fields left out stay; null takes a value away."""

    name: str | None | UnsetType = UNSET
    logo_url: str | None | UnsetType = UNSET
    primary_color: str | None | UnsetType = UNSET
    support_email: str | None | UnsetType = UNSET


class SecurityForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Fields sent change, fields left out stay; null takes a limit of days away."""

    require_mfa: bool | UnsetType = UNSET
    mfa_methods: list[FactorKind] | UnsetType = UNSET
    mfa_grace_days: int | UnsetType = UNSET
    session_days: int | None | UnsetType = UNSET
    idle_days: int | None | UnsetType = UNSET


class OwnSettingsForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Fields sent change, fields left out stay."""

    timezone: str | UnsetType = UNSET
    language: str | UnsetType = UNSET
    currency: str | UnsetType = UNSET
    custom_settings: dict[str, Any] | UnsetType = UNSET
    branding: BrandingForm | UnsetType = UNSET
    security: SecurityForm | UnsetType = UNSET


class OwnSettings(Struct, rename="camel", kw_only=True):
    timezone: str
    language: str
    currency: str
    enabled_features: tuple[str, ...]
    custom_settings: dict[str, Any]
    branding: Branding
    security: TenantSecurity


@dataclass(frozen=True)
class TenantSettingsAdministration:
    """``lifetimes`` are the service's: a tenant only shortens them."""

    database: Database[TenantTransaction]
    revocations: Revocations
    clock: Clock
    lifetimes: Lifetimes

    async def get(self, caller: Caller) -> OwnSettings:
        async with self.database.read_only(EveryTenant()) as read:
            tenant = await read.tenants.by_id(caller.tenant.id)
        return _shown(tenant)

    @retry_on_conflict
    async def update(self, caller: Caller, form: OwnSettingsForm, client: Client) -> OwnSettings:
        if errors := [*_errors(form), *_security_errors(form.security, self.lifetimes)]:
            raise ValidationError(fields=errors)
        now, tenant_id = self.clock.now(), caller.tenant.id
        subject = tenant_subject(tenant_id)
        async with self.revocations.publishing([subject]) as published:
            async with self.database.transaction(EveryTenant()) as tx:
                before = await tx.tenants.lock(tenant_id)
                if before is None:
                    raise NotFound
                after = replace(before, settings=_changed(before.settings, form, now))
                names = changed_names(before.settings, after.settings)
                if names:
                    await tx.tenants.save(after)
                    # The trail tells what was changed, and never to what: settings may be secrets of the tenant.
                    action = f"settings.changed:{','.join(names)}"
                    await tx.audit.add(tenant_id, event(action, caller.user_id, tenant_id, client, now))
                # What the tenant asks of its members holds for the tokens that they have: all are refreshed.
                versions = await tx.token_versions.bump([subject]) if "security" in names else {}
            published.update(versions)
        return _shown(after)


def changed_names(before: TenantSettings, after: TenantSettings) -> list[str]:
    """Wire names of the settings that differ, in their order: ``["timezone", "branding"]``."""
    return [name for name, value in _by_wire_name(after).items() if _by_wire_name(before)[name] != value]


def _by_wire_name(settings: TenantSettings) -> dict[str, object]:
    return {
        "timezone": settings.timezone,
        "language": settings.language,
        "currency": settings.currency,
        "customSettings": settings.custom_settings,
        # What was never set is the same as what is set to nothing.
        "branding": settings.branding or Branding(),
        "security": settings.own_security or NO_SECURITY,
    }


def _changed(settings: TenantSettings, form: OwnSettingsForm, now: datetime) -> TenantSettings:
    names = ("timezone", "language", "currency", "custom_settings")
    given: dict[str, Any] = {name: getattr(form, name) for name in names if getattr(form, name) is not UNSET}
    if form.branding is not UNSET:
        before = Branding() if settings.branding is UNSET else settings.branding
        given["branding"] = replace(before, **_sent(form.branding))
    if form.security is not UNSET:
        given["security"] = _changed_security(settings.own_security or NO_SECURITY, form.security, now)
    return replace(settings, **given)


def _changed_security(before: TenantSecurity, form: SecurityForm, now: datetime) -> TenantSecurity:
    sent = {name: getattr(form, name) for name in form.__struct_fields__ if getattr(form, name) is not UNSET}
    if "mfa_methods" in sent:
        sent["mfa_methods"] = tuple(sorted(set(sent["mfa_methods"])))
    return changed_security(before, replace(before, **sent), now)


def _security_errors(form: SecurityForm | UnsetType, lifetimes: Lifetimes) -> Iterator[FieldError]:
    """Errors of limits that are none, or longer than the service's."""
    if form is UNSET:
        return
    if form.mfa_grace_days is not UNSET and not 0 <= form.mfa_grace_days <= GRACE_DAYS:
        yield FieldError("security.mfaGraceDays", f"takes 0 to {GRACE_DAYS} days")
    for name, days, longest in (
        ("sessionDays", form.session_days, lifetimes.session.days),
        ("idleDays", form.idle_days, lifetimes.unused.days),
    ):
        if isinstance(days, int) and not 1 <= days <= longest:
            yield FieldError(f"security.{name}", f"takes 1 to {longest} days, as the service allows, or null")


def _sent(form: BrandingForm) -> dict[str, Any]:
    sent = {name: getattr(form, name) for name in form.__struct_fields__}
    return {name: value or None for name, value in sent.items() if value is not UNSET}


def _errors(form: OwnSettingsForm) -> Iterator[FieldError]:
    given = {name: getattr(form, name) for name in ("timezone", "language", "currency")}
    for error in settings_errors(SettingsForm(**given)):
        yield FieldError(error.field.removeprefix("settings."), error.message)
    if form.branding is UNSET:
        return
    sent = _sent(form.branding)
    yield from text_errors("branding.name", sent.get("name"), 1, BRAND_LENGTH)
    yield from url_errors("branding.logoUrl", sent.get("logo_url"), LOGO_LENGTH)
    color, email = sent.get("primary_color"), sent.get("support_email")
    if color is not None and not _COLOR.fullmatch(color):
        yield FieldError("branding.primaryColor", "takes a colour such as #00458b")
    if email is not None and not (len(email) <= EMAIL_LENGTH and is_address(email)):
        yield FieldError("branding.supportEmail", "is not an e-mail address")


def _shown(tenant: Tenant | None) -> OwnSettings:
    if tenant is None:
        raise NotFound
    settings = tenant.settings
    return OwnSettings(
        timezone=settings.timezone,
        language=settings.language,
        currency=settings.currency,
        enabled_features=settings.enabled_features,
        custom_settings=settings.custom_settings,
        branding=Branding() if settings.branding is UNSET else settings.branding,
        security=settings.own_security or NO_SECURITY,
    )
