"""Tenants and their settings."""

import re
from datetime import datetime
from uuid import UUID

from msgspec import Struct, field

SYSTEM_IDENTIFIER = "system"

_IDENTIFIER = re.compile(r"[a-z0-9-]{2,63}")


def is_identifier(text: str) -> bool:
    return _IDENTIFIER.fullmatch(text) is not None


class TenantSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    timezone: str = "UTC"
    language: str = "en-US"
    currency: str = "USD"
    enabled_features: tuple[str, ...] = ()
    custom_settings: dict[str, object] = field(default_factory=dict)


class Tenant(Struct, frozen=True, kw_only=True, rename="camel"):
    id: UUID
    name: str
    identifier: str
    domain: str | None = None
    is_active: bool = True
    created_at: datetime
    settings: TenantSettings = field(default_factory=TenantSettings)
