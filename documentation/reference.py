"""The generated pages by file name."""

from collections.abc import Callable, Mapping

from documentation import (
    audit_page,
    command_line_page,
    data_page,
    endpoints_page,
    entities_page,
    errors_page,
    logs_page,
    mails_page,
    metrics_page,
    queries_page,
    settings_page,
)
from documentation.sources import ROOT

FOLDER = ROOT / "docs" / "reference"
NOTE = "<!-- Written by `make reference` from the code; a test compares it. -->\n\n"


def _noted(page: Callable[[], str]) -> Callable[[], str]:
    return lambda: NOTE + page()


PAGES: Mapping[str, Callable[[], str]] = {
    "audit-actions.md": _noted(audit_page.page),
    "commands.md": _noted(command_line_page.page),
    "data.md": _noted(data_page.page),
    "endpoints.md": _noted(endpoints_page.page),
    "entities.md": _noted(entities_page.page),
    "error-codes.md": _noted(errors_page.page),
    "log-lines.md": _noted(logs_page.page),
    "mails.md": _noted(mails_page.page),
    "metrics.md": _noted(metrics_page.page),
    "queries.md": _noted(queries_page.page),
    "settings.md": _noted(settings_page.page),
}
