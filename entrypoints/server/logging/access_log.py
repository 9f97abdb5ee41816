"""The line for every answer: a structlog event that costs the loop little, rendered and written by the LogWriter."""

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
    """Logs answers, or does nothing where only more serious lines are logged."""
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
    """The logger under structlog's: its ``info`` takes the event itself."""

    def __init__(self, writer: LogWriter) -> None:
        self.info = writer.put


def _stamped(_: WrappedLogger, __: str, event: EventDict) -> tuple[tuple[EventDict], dict[str, object]]:
    event["time"] = time.time()
    return (event,), {}  # arguments of the logger below, as structlog takes them from the last processor


def with_fields(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Field by field what an event's AccessLine says, for the LogWriter's thread; other events stay as they are."""
    line: AccessLine | None = event.pop("line", None)
    return event if line is None else {**event, **line.fields}
