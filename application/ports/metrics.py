"""Metrics of the service: answers that a process counts, its load, and the state of what all processes share."""

from datetime import timedelta
from typing import Protocol

from msgspec import Struct

from application.ports.access_log import AccessLine
from application.ports.load import HashLoad, PoolLoad, ReplicaLoad
from application.ports.mail_delivery import MailBacklog


class ProcessLoad(Struct, frozen=True, kw_only=True):
    """Load of this process now, and what it has counted since its start."""

    pool: PoolLoad
    hashes: HashLoad
    replicas: ReplicaLoad
    limits_refused: int
    revocation_fallbacks: int


class SharedState(Struct, frozen=True, kw_only=True):
    """State of what all processes share; None is not known, because the database is away."""

    database: bool
    redis: bool
    migrations_pending: bool | None
    mails: MailBacklog | None
    oldest_mail: timedelta | None
    """Age of the oldest mail that waits; zero without any."""


class Metrics(Protocol):
    """Counts and measures of one process."""

    def see(self, line: AccessLine) -> None:
        """Counts an answer, and the time that it took."""
        ...

    def see_load(self, load: ProcessLoad) -> None:
        """Measures the load of this process; a later one replaces it."""
        ...

    def text(self, state: SharedState) -> bytes:
        """Metrics of all processes of this machine, in the text format of Prometheus."""
        ...
