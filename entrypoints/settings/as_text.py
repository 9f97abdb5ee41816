"""Settings as text: every variable with its value. For secrets, the text only says whether they are set."""

from collections.abc import Mapping
from pathlib import Path

from application.operations.system_reports import SettingItem
from entrypoints.settings.files import read_files
from entrypoints.settings.settings import IN_FILES, PREFIX, SECRETS, VARIABLES, Settings


def sources_of(environment: Mapping[str, str], folder: Path) -> Mapping[str, str]:
    """Return the source of each set variable, by name without prefix: ``environment``, or the name of a file."""
    files = read_files(folder, PREFIX, {*VARIABLES, *IN_FILES}, SECRETS)
    # An empty environment variable counts as unset, so it does not override the value in a file.
    sources = {**files.origins, **{name: "environment" for name, value in environment.items() if value.strip()}}
    # Another variable may name a file with the secret.
    found = {name: sources.get(PREFIX + name) or sources.get(f"{PREFIX}{name}_FILE") for name in VARIABLES}
    return {name: source for name, source in found.items() if source}


def settings_as_text(settings: Settings, sources: Mapping[str, str]) -> tuple[SettingItem, ...]:
    """Return a running service's settings, in the order of their declaration."""
    defaults = Settings()
    return tuple(
        SettingItem(
            name=PREFIX + name,
            value=None if variable.secret else value_of(name, settings),
            is_secret=variable.secret,
            is_default=_stored(name, settings) == _stored(name, defaults),
            source=sources.get(name),
        )
        for name, variable in VARIABLES.items()
    )


def value_of(name: str, settings: Settings) -> str | None:
    """Return a value as its variable has it: ``on``, ``a,b``; None for an empty value. Do not use this for secrets."""
    value = _stored(name, settings)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or None
    return None if value is None or value == "" else str(value)


def _stored(name: str, settings: Settings) -> object:
    """Value of the variable; ``SOCIAL_GITHUB_CLIENT_ID`` is ``client_id`` of the provider github."""
    if hasattr(settings, name.lower()):
        return getattr(settings, name.lower())
    provider, _, field = name.removeprefix("SOCIAL_").lower().partition("_")
    return getattr(settings.social[provider], field) if provider in settings.social else None
