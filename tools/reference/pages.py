"""The generated pages by file name, those of one table or block among them."""

from collections.abc import Callable, Mapping

from domain.parts.composition import AUDIT_ACTIONS
from entrypoints.assembly.entities import load_registry
from entrypoints.cli.reports.entity_report import describe
from entrypoints.settings.as_text import value_of
from entrypoints.settings.settings import PREFIX, VARIABLES, Settings
from tools.reference import (
    command_line_page,
    data_page,
    endpoints_page,
    errors_page,
    logs_page,
    mails_page,
    metrics_page,
    queries_page,
)
from tools.reference.markdown import block, code, sections, table
from tools.reference.sources import ROOT

FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by `make reference` from the code; a test compares it. -->\n\n"

AUDIT = """\
`GET /api/audit-events` lists the audit trail of a tenant to those who hold `read:audit-events`, with the filters of
any entity: `?action=login.failed&occurredAtAfter=2026-01-01`. In braces stands what varies, such as the name of a
domain: `?action.startsWith=domain.` finds them all. An event has `actorId` (who), `action`, `targetId` (on
what), `address`, `requestId` and `occurredAt`. It is written in the transaction of what it tells, so that neither is
there without the other. The service can add events, and neither change nor delete any;
[`AUDIT_RETENTION_DAYS`](../settings.md) ends them by age."""
ENTITIES = """\
What `tenantry entities` prints for the example catalogue and the entities of the service itself: paths, fields with
their types, relations, permissions, and how many requests a caller may make in a minute. With entities of your own it
prints those. [Entities](../entities.md) explains each type and marker."""
SETTINGS = f"""\
Every variable begins with `{PREFIX}`. [Settings](../settings.md) says what each is for. A *secret* may stand in a
file, which the same name with `_FILE` behind it names; messages and `tenantry settings` never show it."""


def _audit_actions() -> str:
    rows = ((code(name), meaning) for name, meaning in sorted(AUDIT_ACTIONS.items()))
    return sections("# Audit actions", AUDIT, table(("Action", "Written when"), rows))


def _entities() -> str:
    report = str(describe(load_registry(("tenantry.catalogue",))))
    return sections("# Entities of the service", ENTITIES, block(report, "text"))


def _settings() -> str:
    defaults = Settings()
    rows = (
        (code(name), variable.takes, "" if variable.secret else _default(name, defaults), "yes" * variable.secret)
        for name, variable in VARIABLES.items()
    )
    return sections("# Settings in a table", SETTINGS, table(("Variable", "Takes", "Default", "Secret"), rows))


def _default(name: str, defaults: Settings) -> str:
    value = value_of(name, defaults)
    return "" if value is None else code(value)


def _noted(page: Callable[[], str]) -> Callable[[], str]:
    return lambda: NOTE + page()


PAGES: Mapping[str, Callable[[], str]] = {
    "audit-actions.md": _noted(_audit_actions),
    "commands.md": _noted(command_line_page.page),
    "data.md": _noted(data_page.page),
    "endpoints.md": _noted(endpoints_page.page),
    "entities.md": _noted(_entities),
    "error-codes.md": _noted(errors_page.page),
    "log-lines.md": _noted(logs_page.page),
    "mails.md": _noted(mails_page.page),
    "metrics.md": _noted(metrics_page.page),
    "queries.md": _noted(queries_page.page),
    "settings.md": _noted(_settings),
}
