"""Access log that writes each response's line to the standard library's logging, and one that keeps nothing."""

import logging

from application.ports.access_log import AccessLine

ANSWERED = "answered"

log = logging.getLogger(__name__)


def log_access(line: AccessLine) -> None:
    if log.isEnabledFor(logging.INFO):
        log.info(ANSWERED, extra=line.fields)


def log_nothing(_: AccessLine) -> None:
    """Access log that keeps nothing, for benchmarks and where something in front of the service keeps one."""
