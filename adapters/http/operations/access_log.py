"""Access logs: one writes each response to the standard library's logging, the other discards all."""

import logging

from application.ports.access_log import AccessLine

log = logging.getLogger(__name__)


def log_access(line: AccessLine) -> None:
    level = logging.DEBUG if line.is_probe else logging.INFO
    if log.isEnabledFor(level):
        fields = line.fields
        # The fields are in the message too, because some formatters print only the message.
        log.log(level, "answered %(method)s %(path)s: %(status)s in %(ms)s ms", fields, extra=fields)


def log_nothing(_: AccessLine) -> None:
    """Discard the entry, for benchmarks and behind a proxy with an access log."""
