"""Log lines: one JSON object each, or plain text on a terminal."""

import logging
import logging.config
import sys
import traceback
from datetime import UTC, datetime
from typing import Any

import msgspec

from entrypoints.settings.settings import Settings

_PLAIN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    """What a caller gives as ``extra`` stands beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = "".join(traceback.format_exception(*record.exc_info))
        return msgspec.json.encode(line, enc_hook=str).decode()


class PlainLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        extra = "".join(f" {name}={value}" for name, value in _extra(record).items())
        line = f"{_time(record)} {record.levelname:<8} {record.getMessage()}{extra}"
        if record.exc_info and record.exc_info[0] is not None:
            return line + "\n" + "".join(traceback.format_exception(*record.exc_info)).rstrip()
        return line


def _time(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _extra(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in _PLAIN}


def is_console(settings: Settings) -> bool:
    return settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())


def log_configuration(settings: Settings) -> dict[str, Any]:
    """For logging.config; the ASGI server, which has loggers of its own, takes it too.

    Log lines go to standard error, so that what a command answers stands alone on standard output.
    """
    formatter = PlainLines if is_console(settings) else JsonLines
    level = settings.log_level.upper()
    server = "DEBUG" if level == "DEBUG" else "WARNING"  # its chatter about starting says nothing new
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"lines": {"()": f"{formatter.__module__}.{formatter.__qualname__}"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "lines", "stream": "ext://sys.stderr"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "_granian": {"level": server},
            "granian.access": {"level": "INFO"},
            "alembic": {"level": "WARNING"},
        },
    }


def configure_logs(settings: Settings) -> None:
    logging.config.dictConfig(log_configuration(settings))
