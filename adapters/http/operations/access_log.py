"""Access log that writes each response's line to the standard library's logging, and one that keeps nothing."""

import logging

from application.ports.access_log import AccessLine

log = logging.getLogger(__name__)


def log_access(line: AccessLine) -> None:
    level = logging.DEBUG if line.is_probe else logging.INFO
    if log.isEnabledFor(level):
        fields = line.fields
        # formatters without these fields print the message only
        log.log(level, "answered %(method)s %(path)s: %(status)s in %(ms)s ms", fields, extra=fields)


def log_nothing(_: AccessLine) -> None:
    """Access log that keeps nothing, for benchmarks and where something in front of the service keeps one."""
