"""Access log entry of each response. It is a structlog event with little work for the event loop; the LogWriter renders
and writes it.
"""

import logging
import time

import structlog
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
    logger = structlog.wrap_logger(
        _Queued(writer),
        processors=[_stamped],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
    ).bind(logger=access_log.__name__, level="info")

    def log(line: AccessLine) -> None:
        if has_probes or not line.is_probe:
            logger.info("answered", line=line)  # the thread of the LogWriter reads its fields

    return log


class _Queued:
    """Logger that structlog wraps; its ``info`` accepts the event as an object."""

    def __init__(self, writer: LogWriter) -> None:
        self.info = writer.put


def _stamped(_: WrappedLogger, __: str, event: EventDict) -> tuple[tuple[EventDict], dict[str, object]]:
    event["time"] = time.time()
    return (event,), {}  # arguments of the logger below, in structlog's form


def with_fields(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Replace an event's AccessLine by its fields, in the LogWriter's thread; other events stay unchanged."""
    line: AccessLine | None = event.pop("line", None)
    return event if line is None else {**event, **line.fields}
