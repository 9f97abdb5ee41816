"""Every setting with what it takes and its default."""

from documentation.markdown import code, sections, table
from entrypoints.settings.as_text import value_of
from entrypoints.settings.settings import PREFIX, VARIABLES, Settings

INTRODUCTION = f"""\
Every variable begins with `{PREFIX}`. [Settings](../settings.md) says what each is for. A *secret* may stand in a
file, which the same name with `_FILE` behind it names; messages and `tenantry settings` never show it."""


def page() -> str:
    defaults = Settings()
    rows = (
        (code(name), variable.takes, "" if variable.secret else _default(name, defaults), _secret(variable.secret))
        for name, variable in VARIABLES.items()
    )
    return sections("# Settings in a table", INTRODUCTION, table(("Variable", "Takes", "Default", "Secret"), rows))


def _default(name: str, defaults: Settings) -> str:
    value = value_of(name, defaults)
    return "" if value is None else code(value)


def _secret(is_secret: bool) -> str:
    return "yes" if is_secret else ""
