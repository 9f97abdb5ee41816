"""Log lines: one JSON object each, or coloured text on a terminal; rendered by structlog, whoever logs."""

import logging
import logging.config
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec
import structlog
from structlog.stdlib import ExtraAdder, ProcessorFormatter
from structlog.typing import EventDict, Processor, WrappedLogger

from entrypoints.settings.settings import Settings

LINES = "lines"
"""The name of the handler and of its formatter in ``log_configuration``."""


def json_lines() -> logging.Formatter:
    """Records of the standard library as JSON; a caller's ``extra`` stands beside the message, if JSON can say it."""
    return _formatter([structlog.processors.format_exc_info, *JSON])


def plain_lines() -> logging.Formatter:
    return _formatter(console())


def _formatter(rendering: Sequence[Processor]) -> logging.Formatter:
    known: list[Processor] = [_from_record, ExtraAdder()]
    # an error's traceback is told by ``rendering``: kept in the record, the standard library would add it once more
    return ProcessorFormatter(
        foreign_pre_chain=known, processors=[ProcessorFormatter.remove_processors_meta, *rendering]
    )


def _from_record(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    return {"time": record.created, "level": record.levelname.lower(), "logger": record.name, **event}


def ordered(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Time, level, logger and message first, under the names that the log's readers know."""
    at, level, logger = event.pop("time"), event.pop("level"), event.pop("logger")
    return {"time": _moment(at), "level": level, "logger": logger, "message": event.pop("event"), **event}


def _moment(at: float) -> str:
    """The moment with its milliseconds: ``2026-11-22T05:06:07.089Z``."""
    second, millisecond = divmod(int(at * 1000), 1000)
    return f"{_second(second)}.{millisecond:03}Z"


@lru_cache(2)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _encoded(event: Any, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


JSON: Sequence[Processor] = (ordered, structlog.processors.JSONRenderer(serializer=_encoded))
"""From an event to its line."""


def console() -> Sequence[Processor]:
    """As ``JSON``, for people. Tracebacks are plain: the richer ones show the values of variables, secrets too."""
    renderer = structlog.dev.ConsoleRenderer(
        colors=sys.stderr.isatty(),
        exception_formatter=structlog.dev.plain_traceback,
        timestamp_key="time",
        event_key="message",
    )
    return (ordered, renderer)


def is_console(settings: Settings) -> bool:
    return settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())


def rendering(settings: Settings) -> Sequence[Processor]:
    """Processors that make a line of an event with ``time`` (of the epoch), ``level`` and ``logger``."""
    return console() if is_console(settings) else JSON


def event(message: str, logger: str, level: str = "warning", **fields: object) -> EventDict:
    return {"time": time.time(), "level": level, "logger": logger, "event": message, **fields}


def log_configuration(settings: Settings) -> dict[str, Any]:
    """Configuration for logging.config; the ASGI server, which has loggers of its own, takes it too.

    Log lines go to standard error, so that what a command answers stands alone on standard output.
    """
    formatter = plain_lines if is_console(settings) else json_lines
    level = settings.log_level.upper()
    server = "DEBUG" if level == "DEBUG" else "WARNING"  # its chatter about starting says nothing new
    return {
        "version": 1,
        "disable_existing_loggers": False,
        # The name and not the function: a process that is started anew is given this by pickling.
        "formatters": {LINES: {"()": f"{formatter.__module__}.{formatter.__qualname__}"}},
        "handlers": {LINES: {"class": "logging.StreamHandler", "formatter": LINES, "stream": "ext://sys.stderr"}},
        "root": {"handlers": [LINES], "level": level},
        "loggers": {
            "_granian": {"level": server},
            "granian.access": {"level": "INFO"},
            "alembic": {"level": "WARNING"},
        },
    }


def configure_logs(settings: Settings) -> None:
    logging.config.dictConfig(log_configuration(settings))
