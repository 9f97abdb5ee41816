"""Bodies and results of login, refresh and switch-tenant requests."""

from datetime import datetime
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from domain.identity.users import TenantName
from domain.scope import TokenType


class LoginForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    email: str
    password: str
    is_password_encrypted: bool | UnsetType = UNSET
    preferred_tenant_id: UUID | None = None
    requested_app_id: str | None = None


class RefreshForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    refresh_token: str
    tenant_id: UUID | None = None


class SwitchForm(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    tenant_id: UUID


class CurrentTenant(TenantName, rename="camel", kw_only=True):
    permissions: tuple[str, ...]


class TokenPair(Struct, rename="camel", kw_only=True):
    token: str
    refresh_token: str
    expires_at: datetime
    is_global: bool
    token_type: TokenType


class LoginResult(TokenPair, rename="camel", kw_only=True):
    """Result of a login.

    ``mfaDeadline`` is the time from which the tenant requires a second factor. ``mustAddFactor`` is true if the user
    logged in with a recovery code instead of a factor.
    """

    permissions: tuple[str, ...]
    is_first_login: bool
    must_change_password: bool
    days_until_password_expiration: int | None
    requires_tenant_selection: bool
    current_tenant: CurrentTenant | None
    smart_auto_switched: bool
    available_tenants: list[TenantName] | UnsetType = UNSET
    mfa_deadline: datetime | UnsetType = UNSET
    must_add_factor: bool | UnsetType = UNSET


class RefreshResult(TokenPair, rename="camel", kw_only=True):
    permissions: tuple[str, ...]


class SwitchResult(TokenPair, rename="camel", kw_only=True):
    current_tenant: TenantName
