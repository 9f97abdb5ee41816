"""Settings as text: every variable with its value. For secrets, the text only says whether they are set."""

from application.operations.system_reports import SettingItem
from entrypoints.settings.settings import PREFIX, VARIABLES, Settings


def settings_as_text(settings: Settings) -> tuple[SettingItem, ...]:
    """Return a running service's settings, in the order of their declaration."""
    defaults = Settings()
    return tuple(
        SettingItem(
            name=PREFIX + name,
            value=None if variable.secret else value_of(name, settings),
            is_secret=variable.secret,
            is_default=_stored(name, settings) == _stored(name, defaults),
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
