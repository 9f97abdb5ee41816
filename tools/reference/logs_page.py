"""Every line that the service itself writes to its log."""

import ast
from collections.abc import Iterator

from tools.reference.markdown import code, sections, table
from tools.reference.sources import calls, text_of

INTRODUCTION = """\
The service logs to standard error: one JSON object a line, or short coloured lines on a terminal
([`LOG_FORMAT`](../settings.md#all-settings)). Before them stand the warnings of its start, and what keeps it from
starting, in plain text. Times are UTC. Where lines are kept, for how long and who may read them is for whoever runs
the service: it keeps none itself. No line has a password, a token, a key, a body or the value of a parameter, and
tracebacks have no values of variables. Two exceptions are for those who begin: a password that the first start makes
for the super-admin is printed once, and without a mail server the line of a mail has the link that is in it.

A request has one line, `answered`, at the level `info`: method, path without its query, status, milliseconds (`ms`),
`request_id`, `address`, `user_id` and `refusal`, the [error code](error-codes.md) of an answer that is one. What
concerns a person's rights stands in the [audit trail](audit-actions.md) beside it, in the database, with the same
request id. Figures are [metrics](metrics.md).

The table lists all other lines, with the file that writes each; `%s` and names in braces stand for values. Libraries
and PostgreSQL add lines of their own."""

LEVELS = ("debug", "info", "warning", "error", "exception", "critical")


def page() -> str:
    rows = sorted(set(_lines()))
    shown = ((level, f"{message}", code(path)) for message, level, path in rows)
    return sections("# Log lines", INTRODUCTION, table(("Level", "Message", "File"), shown))


def _lines() -> Iterator[tuple[str, str, str]]:
    for path, call in calls("domain", "application", "adapters", "entrypoints"):
        for level, node in (*_logged(call), *_texts(call)):
            message = text_of(node)
            if message is not None and message != "%s":
                yield message, "error" if level == "exception" else level, path


def _logged(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Level and message of ``log.warning("…")``."""
    function = call.func
    if not isinstance(function, ast.Attribute) or ast.unparse(function.value) not in ("log", "logger"):
        return
    if function.attr in LEVELS and call.args:
        yield function.attr, call.args[0]


def _texts(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Levels and messages of ``LogTexts(debug="…", error="…")``."""
    if ast.unparse(call.func) == "LogTexts":
        yield from ((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg in LEVELS)
