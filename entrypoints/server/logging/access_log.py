"""Access log entry of each response. It is an event with little work for the event loop; the LogWriter renders and
writes it.
"""

import time

from structlog.typing import EventDict, WrappedLogger

from adapters.http.operations import access_log
from adapters.http.operations.access_log import log_nothing
from application.ports.access_log import AccessLine, AccessLog
from entrypoints.server.logging.log_writer import LogWriter
from entrypoints.settings.settings import Settings


def access_writer(settings: Settings, writer: LogWriter) -> AccessLog:
    """Return a writer of answers; it does nothing if only more serious entries are logged."""
    if settings.log_level not in ("debug", "info"):
        return log_nothing
    return access_events(writer, has_probes=settings.log_level == "debug")


def access_events(writer: LogWriter, *, has_probes: bool = False) -> AccessLog:
    """Queue an event for each answer. Successful health checks are events only at the level ``debug``."""

    def log(line: AccessLine) -> None:
        if has_probes or not line.is_probe:
            # The thread of the LogWriter reads the fields of the line. A bound logger of structlog would need four
            # times as long.
            writer.put(
                {
                    "time": time.time(),
                    "level": "info",
                    "logger": access_log.__name__,
                    "event": "answered",
                    "line": line,
                }
            )

    return log


def with_fields(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replace an event's AccessLine by its fields, in the LogWriter's thread; other events stay unchanged."""
    line: AccessLine | None = event.pop("line", None)
    if line is not None:
        event.update(line.fields)
    return event
