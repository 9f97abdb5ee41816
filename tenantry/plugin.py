"""The plugin and its settings, which ``tenantry`` hands on when they are asked for: import them from there."""

from entrypoints.assembly.entities import EntitiesError
from entrypoints.server.plugin import TenantryPlugin
from entrypoints.settings.settings import Settings, SettingsError, read_settings

__all__ = ["EntitiesError", "Settings", "SettingsError", "TenantryPlugin", "read_settings"]
