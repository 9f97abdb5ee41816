"""``tenantry settings``: every setting with value and source."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from entrypoints.cli.tables import listed
from entrypoints.settings.as_text import sources_of, value_of
from entrypoints.settings.settings import PREFIX, VARIABLES, Settings, read_settings
from entrypoints.terminal.answers import Answer

HIDDEN = "(hidden)"


class Setting(Struct, rename="camel"):
    """A setting with value and source.

    ``source`` is ``default``, ``environment``, or a file name; an unset ``value`` is None.
    """

    name: str
    value: str | None
    source: str


def report(environment: Mapping[str, str], folder: Path) -> Answer:
    """Report the settings. Raises SettingsError for invalid settings."""
    settings = read_settings(environment, folder)
    sources = sources_of(environment, folder)
    found = [
        Setting(name=PREFIX + name, value=_shown(name, settings, sources), source=sources.get(name, "default"))
        for name in VARIABLES
    ]
    return listed(found, ("name", "value", "source"))


def _shown(name: str, settings: Settings, sources: Mapping[str, str]) -> str | None:
    # Security: a masked secret's length or first letters would help an onlooker.
    if VARIABLES[name].secret:
        return HIDDEN if name in sources else None
    return value_of(name, settings)
