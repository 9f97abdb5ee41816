"""The plugin and its settings. ``tenantry`` imports this module late: import the names from ``tenantry``."""

from entrypoints.assembly.entities import EntitiesError
from entrypoints.server.plugin import TenantryPlugin
from entrypoints.settings.settings import Settings, SettingsError, read_settings

__all__ = ["EntitiesError", "Settings", "SettingsError", "TenantryPlugin", "read_settings"]
