"""Embedded PostgreSQL and Valkey from wheels, started and stopped with the service if no URL is set."""

from adapters.embedded.errors import DataDirInUse, EmbeddedUnavailable
from adapters.embedded.start import EmbeddedServices, start_embedded

__all__ = ["DataDirInUse", "EmbeddedServices", "EmbeddedUnavailable", "start_embedded"]
