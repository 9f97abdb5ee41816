"""``tenantry settings``: every setting with its value and its source."""

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
    """A setting with its value and its source.

    ``source`` is ``default``, ``environment``, or the name of a file; ``value`` is None for a setting without a value.
    """

    name: str
    value: str | None
    source: str


def report(environment: Mapping[str, str], folder: Path) -> Answer:
    """Raises SettingsError for settings that cannot be used."""
    settings = read_settings(environment, folder)
    files = read_files(folder, PREFIX, {*VARIABLES, *IN_FILES}, SECRETS)
    # an empty variable counts as unset, so that it hides no value of a file
    sources = {**files.origins, **{name: "environment" for name, value in environment.items() if value.strip()}}
    found = [
        Setting(name=PREFIX + name, value=_shown(name, settings, set_by), source=set_by or "default")
        for name, set_by in ((name, _source(sources, PREFIX + name)) for name in VARIABLES)
    ]
    return listed(found, ("name", "value", "source"))


def _source(sources: Mapping[str, str], name: str) -> str | None:
    # a secret may stand in a file that another variable names
    return sources.get(name) or sources.get(f"{name}_FILE")


def _shown(name: str, settings: Settings, source: str | None) -> str | None:
    # not even masked: its length or its first letters would help whoever reads over the shoulder
    if VARIABLES[name].secret:
        return HIDDEN if source else None
    return value_of(name, settings)
