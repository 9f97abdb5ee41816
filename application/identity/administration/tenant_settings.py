"""Settings of a tenant for changes by its own administrators."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from application.identity.administration.security_forms import SecurityForm, asked_security, security_errors
from application.identity.administration.tenant_forms import SettingsForm, SettingText, settings_errors
from application.identity.joining.approvers import approvers
from application.ports.database import Database
from application.ports.identity.tenants import TenantTransaction
from application.ports.identity.users import notice
from application.ports.runtime import Clock, Ids
from application.ports.shared_memory import Revocations
from application.retry import retry_on_conflict
from domain.errors import FieldError, NotFound, ValidationError
from domain.forms import documented, text_errors, url_errors
from domain.identity.factors import NO_SECURITY
from domain.identity.users import Branding, Tenant, TenantSecurity, TenantSettings, is_address
from domain.scope import Caller, Client, EveryTenant, event, tenant_subject

BRAND_LENGTH, LOGO_LENGTH, EMAIL_LENGTH = 60, 2_000, 254
_COLOR = re.compile("#[0-9a-fA-F]{6}")


class BrandingForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Branding changes: omitted fields stay; null removes a value."""

    name: Annotated[str, documented(most=BRAND_LENGTH)] | None | UnsetType = UNSET
    logo_url: Annotated[str, documented(most=LOGO_LENGTH)] | None | UnsetType = UNSET
    primary_color: str | None | UnsetType = UNSET
    support_email: Annotated[str, documented(most=EMAIL_LENGTH)] | None | UnsetType = UNSET


class OwnSettingsForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Settings to change; omitted fields stay."""

    timezone: SettingText | UnsetType = UNSET
    language: SettingText | UnsetType = UNSET
    currency: SettingText | UnsetType = UNSET
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
    database: Database[TenantTransaction]
    revocations: Revocations
    clock: Clock
    ids: Ids
    recent: timedelta

    async def get(self, caller: Caller) -> OwnSettings:
        async with self.database.read_only(EveryTenant()) as read:
            tenant = await read.tenants.by_id(caller.tenant.id)
        return _shown(tenant)

    @retry_on_conflict
    async def update(self, caller: Caller, form: OwnSettingsForm, client: Client) -> OwnSettings:
        """Change the settings; only people may change ``security``. May raise ReauthenticationRequired."""
        if errors := [*_errors(form)]:
            raise ValidationError(fields=errors)
        if form.security is not UNSET:
            # Security: a key or stolen token must not lower login requirements.
            caller.ensure_person()
            caller.ensure_recent(self.clock.now(), self.recent)
        # Login requirements apply at once: older tokens become stale, and their refresh passes the gate.
        subjects = () if form.security is UNSET else (tenant_subject(caller.tenant.id),)
        async with self.revocations.publishing(subjects) as published:
            after, versions = await self._store(caller, form, subjects, client)
            published.update(versions)
        return _shown(after)

    async def _store(
        self, caller: Caller, form: OwnSettingsForm, subjects: tuple[str, ...], client: Client
    ) -> tuple[Tenant, Mapping[str, int]]:
        now, tenant_id = self.clock.now(), caller.tenant.id
        async with self.database.transaction(EveryTenant()) as tx:
            before = await tx.tenants.lock(tenant_id)
            if before is None:
                raise NotFound
            after = replace(before, settings=_changed(before.settings, form, now))
            names = changed_names(before.settings, after.settings)
            if names:
                await tx.tenants.save(after)
                # Security: the trail omits values, because settings may be secrets.
                action = f"settings.changed:{','.join(names)}"
                await tx.audit.add(tenant_id, event(action, caller.user_id, tenant_id, client, now))
            versions = await tx.token_versions.bump(subjects) if subjects and "security" in names else {}
            if "security" in names:
                for user in await approvers(tx, tenant_id):
                    mail = notice(self.ids.new(), "security-changed", user, now, client=client, about=after.name)
                    await tx.outbox.add(mail)
        return after, versions


def changed_names(before: TenantSettings, after: TenantSettings) -> list[str]:
    """Return JSON names of the changed settings, in order: ``["timezone", "branding"]``."""
    encoded = {"custom_settings": "customSettings"}
    fields = ("timezone", "language", "currency", "custom_settings", "branding", "security")
    return [encoded.get(name, name) for name in fields if getattr(before, name) != getattr(after, name)]


def _changed(settings: TenantSettings, form: OwnSettingsForm, now: datetime) -> TenantSettings:
    names = ("timezone", "language", "currency", "custom_settings")
    given: dict[str, Any] = {name: getattr(form, name) for name in names if getattr(form, name) is not UNSET}
    if form.branding is not UNSET:
        before = Branding() if settings.branding is UNSET else settings.branding
        given["branding"] = replace(before, **_sent(form.branding))
    if form.security is not UNSET:
        given["security"] = asked_security(settings.security, form.security, now)
    return replace(settings, **given)


def _sent(form: BrandingForm) -> dict[str, Any]:
    sent = {name: getattr(form, name) for name in form.__struct_fields__}
    return {name: value or None for name, value in sent.items() if value is not UNSET}


def _errors(form: OwnSettingsForm) -> Iterator[FieldError]:
    given = {name: getattr(form, name) for name in ("timezone", "language", "currency")}
    for error in settings_errors(SettingsForm(**given)):
        yield FieldError(error.field.removeprefix("settings."), error.message)
    if form.security is not UNSET:
        yield from security_errors(form.security)
    if form.branding is UNSET:
        return
    sent = _sent(form.branding)
    yield from text_errors("branding.name", sent.get("name"), 1, BRAND_LENGTH)
    yield from url_errors("branding.logoUrl", sent.get("logo_url"), LOGO_LENGTH)
    color, email = sent.get("primary_color"), sent.get("support_email")
    if color is not None and not _COLOR.fullmatch(color):
        yield FieldError("branding.primaryColor", "must be a colour such as #00458b")
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
