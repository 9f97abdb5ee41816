"""Metrics of the service: answers of a process, its load, and the shared state."""

from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from application.ports.access_log import AccessLine
from application.ports.entities.webhooks import WebhookBacklog
from application.ports.load import FileLoad, HashLoad, PoolLoad, ReplicaLoad
from application.ports.mail_delivery import MailBacklog


class ProcessLoad(Struct, frozen=True, kw_only=True):
    """Current load of this process, and counts since its start."""

    pool: PoolLoad
    hashes: HashLoad
    replicas: ReplicaLoad
    limits_refused: int
    revocation_fallbacks: int
    streams: int
    """Open streams of changes."""
    files: FileLoad = FileLoad()


class SharedState(Struct, frozen=True, kw_only=True):
    """State that all processes share; a value is None if it is unknown, because the database is unavailable."""

    database: bool
    redis: bool
    migrations_pending: bool | None
    mails: MailBacklog | None
    oldest_mail: timedelta | None
    """Age of the oldest waiting mail; zero without any."""

    changes_lag: timedelta | None
    """Age of the oldest change without a position; zero without any."""

    webhooks: WebhookBacklog | None


class Metrics(Protocol):
    """Counts and measures of one process."""

    def see(self, line: AccessLine) -> None:
        """Count an answer and its duration."""
        ...

    def see_load(self, load: ProcessLoad) -> None:
        """Record the load of this process; replaces the previous load."""
        ...

    def text(self, state: SharedState) -> bytes:
        """Return the metrics of all processes of this machine, in the text format of Prometheus."""
        ...
