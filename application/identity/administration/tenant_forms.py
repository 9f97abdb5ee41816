"""Bodies and responses of the tenant endpoints, with their checks."""

from typing import Annotated, Any
from zoneinfo import ZoneInfo

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from domain.errors import FieldError, ValidationError
from domain.forms import documented, text_errors
from domain.identity.identifiers import is_free_identifier
from domain.identity.users import Tenant, TenantSettings

NAME_LENGTH = 200
DOMAIN_LENGTH = 253
SETTING_LENGTH = 100

TenantTitle = Annotated[str, documented(1, NAME_LENGTH)]
Identifier = Annotated[str, documented(2, 63, pattern="^[a-z0-9][a-z0-9-]*[a-z0-9]$")]
SettingText = Annotated[str, documented(1, SETTING_LENGTH)]
IDENTIFIER_HINT = (
    "must have 2 to 63 of a-z, 0-9 and -, without - at its ends, and must not be a name of the service such as api or"
    " admin"
)


class SettingsForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Settings of a tenant; ``features`` is an alias of ``enabledFeatures``.

    In a change, missing fields retain their value; in a new tenant they get their default.
    """

    timezone: SettingText | UnsetType = UNSET
    language: SettingText | UnsetType = UNSET
    currency: SettingText | UnsetType = UNSET
    features: list[str] | UnsetType = UNSET
    enabled_features: list[str] | UnsetType = UNSET
    custom_settings: dict[str, Any] | UnsetType = UNSET


class NewTenantForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    name: TenantTitle
    identifier: Identifier
    domain: Annotated[str, documented(1, DOMAIN_LENGTH)] | None = None
    settings: SettingsForm | None = None


class TenantForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Body of a change; missing fields retain their value."""

    name: TenantTitle | UnsetType = UNSET
    identifier: Identifier | UnsetType = UNSET
    domain: Annotated[str, documented(1, DOMAIN_LENGTH)] | None | UnsetType = UNSET
    is_active: bool | UnsetType = UNSET
    settings: SettingsForm | UnsetType = UNSET


class TenantPage(Struct, rename="camel", kw_only=True):
    items: list[Tenant]
    total_count: int
    page: int
    page_size: int
    total_pages: int


def ensure_valid(form: NewTenantForm) -> None:
    """Raise ValidationError with every invalid field."""
    _ensure(_errors(form.name, form.identifier, form.domain) + settings_errors(form.settings or SettingsForm()))


def changed_tenant(tenant: Tenant, form: TenantForm) -> Tenant:
    """Return the tenant changed by the form. Raises ValidationError with every invalid field."""
    settings = SettingsForm() if form.settings is UNSET else form.settings
    names = ("name", "identifier", "domain", "is_active")
    changed = replace(tenant, **{name: getattr(form, name) for name in names if getattr(form, name) is not UNSET})
    # Names and identifiers from before the current rules remain valid until they are changed, so check only changed
    # ones.
    name = None if changed.name == tenant.name else changed.name
    identifier = None if changed.identifier == tenant.identifier else changed.identifier
    _ensure(_errors(name, identifier, changed.domain) + settings_errors(settings))
    return replace(changed, settings=settings_of(settings, tenant.settings))


def settings_of(form: SettingsForm | None, before: TenantSettings | None = None) -> TenantSettings:
    """Return the settings ``before``, or the defaults, changed by the form."""
    settings, given = before or TenantSettings(), form or SettingsForm()
    names = ("timezone", "language", "currency", "custom_settings")
    changes = {name: getattr(given, name) for name in names if getattr(given, name) is not UNSET}
    features = given.features if given.enabled_features is UNSET else given.enabled_features
    if features is not UNSET:
        changes["enabled_features"] = tuple(sorted(set(features)))
    return replace(settings, **changes)


def _errors(name: str | None, identifier: str | None, domain: str | None) -> list[FieldError]:
    errors = text_errors("name", name, 1, NAME_LENGTH)
    if identifier is not None and not is_free_identifier(identifier):
        errors.append(FieldError("identifier", IDENTIFIER_HINT))
    if domain is not None and not 1 <= len(domain) <= DOMAIN_LENGTH:
        errors.append(FieldError("domain", f"must have 1 to {DOMAIN_LENGTH} characters"))
    return errors


def settings_errors(form: SettingsForm) -> list[FieldError]:
    """Return the errors of every invalid field, as ``settings.timezone``."""
    errors = _text_errors(form)
    if isinstance(form.timezone, str) and not errors and not _is_zone(form.timezone):
        errors.append(FieldError("settings.timezone", "must be the name of a time zone, such as Europe/Berlin"))
    both = (form.features, form.enabled_features)
    if UNSET not in both and set(form.features or ()) != set(form.enabled_features or ()):
        errors.append(FieldError("settings.features", "is the same as enabledFeatures: send one of them"))
    return errors + _feature_errors(form)


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    # ZoneInfo raises different errors for an unknown zone, an invalid key and a folder.
    except (KeyError, ValueError, OSError):
        # UTC is valid even without a time zone database.
        return name == "UTC"
    return True


def _feature_errors(form: SettingsForm) -> list[FieldError]:
    given = {"features": form.features, "enabledFeatures": form.enabled_features}
    return [
        FieldError(f"settings.{name}[{index}]", f"must have 1 to {SETTING_LENGTH} characters")
        for name, features in given.items()
        for index, feature in enumerate(features or ())
        if not 1 <= len(feature) <= SETTING_LENGTH
    ]


def _text_errors(form: SettingsForm) -> list[FieldError]:
    texts = {"timezone": form.timezone, "language": form.language, "currency": form.currency}
    return [
        FieldError(f"settings.{name}", f"must have 1 to {SETTING_LENGTH} characters")
        for name, text in texts.items()
        if isinstance(text, str) and not 1 <= len(text) <= SETTING_LENGTH
    ]


def _ensure(errors: list[FieldError]) -> None:
    if errors:
        raise ValidationError(fields=errors)
