"""Format of all log entries, rendered by structlog: one JSON object each, or coloured text on a terminal."""

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
"""Name of the handler and its formatter in ``log_configuration``."""


def json_lines() -> logging.Formatter:
    """Return a formatter of log records as JSON, with the caller's ``extra`` if JSON can represent it."""
    return _formatter([structlog.processors.format_exc_info, *JSON])


def plain_lines() -> logging.Formatter:
    return _formatter(console())


def _formatter(rendering: Sequence[Processor]) -> logging.Formatter:
    known: list[Processor] = [_from_record, ExtraAdder()]
    # ``rendering`` already adds the traceback of an error. Remove it from the record, because the standard library
    # would add it again.
    return ProcessorFormatter(
        foreign_pre_chain=known, processors=[ProcessorFormatter.remove_processors_meta, *rendering]
    )


def _from_record(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    record: logging.LogRecord = event["_record"]
    return {"time": record.created, "level": record.levelname.lower(), "logger": record.name, **event}


def ordered(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Put time, level, logger and message first, under their names in the log."""
    at, level, logger = event.pop("time"), event.pop("level"), event.pop("logger")
    return {"time": _moment(at), "level": level, "logger": logger, "message": event.pop("event"), **event}


def _moment(at: float) -> str:
    """``2026-11-22T05:06:07.089Z``."""
    second, millisecond = divmod(int(at * 1000), 1000)
    return f"{_second(second)}.{millisecond:03}Z"


@lru_cache(2)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _encoded(event: Any, **_: object) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


JSON: Sequence[Processor] = (ordered, structlog.processors.JSONRenderer(serializer=_encoded))
"""Processors that render an event as a JSON line."""


def console() -> Sequence[Processor]:
    """Return processors as ``JSON`` does, for people. Tracebacks are plain, because richer ones show values of
    variables, including secrets.
    """
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
    """Return processors that format an event with ``time`` (of the epoch), ``level`` and ``logger``."""
    return console() if is_console(settings) else JSON


def event(message: str, logger: str, level: str = "warning", **fields: object) -> EventDict:
    return {"time": time.time(), "level": level, "logger": logger, "event": message, **fields}


def log_configuration(settings: Settings) -> dict[str, Any]:
    """Return the configuration for logging.config; the ASGI server uses it too, with its loggers.

    Log entries go to standard error, so that standard output contains only the answer of a command.
    """
    formatter = plain_lines if is_console(settings) else json_lines
    level = settings.log_level.upper()
    server = "DEBUG" if level == "DEBUG" else "WARNING"  # granian's start messages are redundant
    return {
        "version": 1,
        "disable_existing_loggers": False,
        # The name and not the function: a new process gets this by pickling.
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
