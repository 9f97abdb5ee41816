"""Use cases of the service's operation on adapters."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

from adapters.http.operations.part import OperationUseCases
from application.denied_operations import DeniedOperations
from application.entities.changes.sequencing import Sequencer
from application.entities.changes.streams.streams import Streams
from application.operations.first_start import FirstStart
from application.operations.housekeeping import Housekeeping
from application.operations.job_results import JobResults
from application.operations.mail_delivery import OutboxRelay
from application.operations.monitoring import Monitoring
from application.operations.signing_keys import KeyRotation
from application.operations.system_reports import SystemReports
from application.throttle import Throttle
from domain.entities.changes.feeds import has_feeds
from domain.entities.declaration import Registry
from domain.retention import DatedRecords
from entrypoints.assembly.adapters import Adapters, lifetimes
from entrypoints.assembly.mail import relay_of
from entrypoints.assembly.parts.shared import SharedObjects
from entrypoints.settings.as_text import settings_as_text, sources_of
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class OperationServices(OperationUseCases):
    first_start: FirstStart
    signing_keys: KeyRotation
    relay: OutboxRelay
    housekeeping: Housekeeping
    job_results: JobResults
    sequencer: Sequencer | None
    """None without an entity that has a feed."""


def assemble_operations(
    adapters: Adapters, settings: Settings, shared: SharedObjects, throttle: Throttle, streams: Streams
) -> OperationServices:
    database, admissions, clock = adapters.database, adapters.admissions, adapters.clock
    job_results = JobResults(adapters.cache, clock)
    return OperationServices(
        system_reports=SystemReports(
            database,
            admissions,
            clock,
            version("tenantry"),
            "smtp" if settings.smtp_url else "files",
            settings_as_text(settings, sources_of(os.environ, Path.cwd())),
            job_results,
        ),
        monitoring=Monitoring(
            database,
            admissions,
            clock,
            adapters.loads,
            throttle.counts,
            lambda: streams.count,
            has_feeds=has_feeds(adapters.registry),
            files=adapters.files.figures.load,
        ),
        denied_operations=DeniedOperations(database, clock),
        first_start=FirstStart(database, adapters.passwords, shared.password_rules, clock, adapters.ids),
        signing_keys=KeyRotation(database, adapters.keyring, clock),
        relay=relay_of(database, adapters.mailer, clock, settings),
        sequencer=Sequencer(database, adapters.wakes) if has_feeds(adapters.registry) else None,
        job_results=job_results,
        housekeeping=Housekeeping(
            database, adapters.upkeep, clock, lifetimes(settings), _kept(settings, adapters.registry)
        ),
    )


def _kept(settings: Settings, registry: Registry) -> Mapping[DatedRecords, timedelta]:
    days = {
        DatedRecords.EVENTS: settings.audit_retention_days,
        DatedRecords.HISTORIES: settings.history_retention_days,
        # Without a feed, an unprivileged login has nothing to delete.
        DatedRecords.CHANGES: settings.changes_days if has_feeds(registry) else 0,
    }
    return {records: timedelta(days=number) for records, number in days.items() if number}
