"""``tenantry settings``: every setting with value and source."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from entrypoints.cli.tables import listed
from entrypoints.settings.as_text import value_of
from entrypoints.settings.files import read_files
from entrypoints.settings.settings import IN_FILES, PREFIX, SECRETS, VARIABLES, Settings, read_settings
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
    files = read_files(folder, PREFIX, {*VARIABLES, *IN_FILES}, SECRETS)
    # An empty environment variable counts as unset, so it does not override the value in a file.
    sources = {**files.origins, **{name: "environment" for name, value in environment.items() if value.strip()}}
    found = [
        Setting(name=PREFIX + name, value=_shown(name, settings, set_by), source=set_by or "default")
        for name, set_by in ((name, _source(sources, PREFIX + name)) for name in VARIABLES)
    ]
    return listed(found, ("name", "value", "source"))


def _source(sources: Mapping[str, str], name: str) -> str | None:
    # Another variable may name a file with the secret.
    return sources.get(name) or sources.get(f"{name}_FILE")


def _shown(name: str, settings: Settings, source: str | None) -> str | None:
    # Security: a masked secret's length or first letters would help an onlooker.
    if VARIABLES[name].secret:
        return HIDDEN if source else None
    return value_of(name, settings)
