"""All use cases on adapters, composed from the parts of the service."""

from dataclasses import dataclass, replace

from adapters.http.use_cases import UseCases
from application.ports.database import RowReads
from application.ports.whole_database import Transaction
from application.primary_reads import PrimaryReads
from application.throttle import Throttle
from entrypoints.assembly.adapters import Adapters
from entrypoints.assembly.parts.account import assemble_account
from entrypoints.assembly.parts.administration import AdministrationServices, assemble_administration
from entrypoints.assembly.parts.entities import EntityServices, assemble_entities
from entrypoints.assembly.parts.factors import FactorServices, assemble_factors
from entrypoints.assembly.parts.hosted_login import HostedLoginServices, assemble_hosted_login
from entrypoints.assembly.parts.joining import JoiningServices, assemble_joining
from entrypoints.assembly.parts.login import assemble_login
from entrypoints.assembly.parts.operations import OperationServices, assemble_operations
from entrypoints.assembly.parts.self_service import assemble_self_service
from entrypoints.assembly.parts.service_accounts import ServiceAccountServices, assemble_service_accounts
from entrypoints.assembly.parts.shared import share
from entrypoints.assembly.parts.webhooks import WebhookServices, assemble_webhooks
from entrypoints.assembly.timed import TimedDatabase, TimedReads, TimedThrottle
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Services(
    UseCases,
    FactorServices,
    HostedLoginServices,
    AdministrationServices,
    JoiningServices,
    ServiceAccountServices,
    WebhookServices,
    OperationServices,
    EntityServices,
):
    """Use cases for handlers and for background work."""


def assemble(adapters: Adapters, settings: Settings) -> Services:
    adapters, reads = _timed(adapters, settings)
    throttle = (TimedThrottle if settings.server_timing else Throttle)(
        adapters.admissions, adapters.database, enforced=settings.rate_limits == "on"
    )
    shared = share(adapters, settings)
    entities = assemble_entities(adapters, settings, reads, throttle)
    return Services(
        **vars(assemble_account(adapters, settings, shared)),
        **vars(assemble_login(adapters, settings, shared)),
        **vars(assemble_factors(adapters, settings, shared)),
        **vars(assemble_hosted_login(adapters, shared)),
        **vars(assemble_self_service(adapters, settings, shared)),
        **vars(assemble_administration(adapters, settings, shared)),
        **vars(assemble_joining(adapters, settings, shared)),
        **vars(assemble_service_accounts(adapters, settings)),
        **vars(entities),
        **vars(assemble_webhooks(adapters, settings)),
        **vars(assemble_operations(adapters, settings, shared, throttle, entities.streams)),
        throttle=throttle,
        registry=adapters.registry,
        database=adapters.database,
        freshness=adapters.freshness,
        admissions=adapters.admissions,
        tokens=adapters.tokens,
        clock=adapters.clock,
        own_queries=adapters.own_queries,
    )


def _timed(adapters: Adapters, settings: Settings) -> tuple[Adapters, RowReads[Transaction]]:
    reads = adapters.replica_reads
    if settings.server_timing:
        adapters = replace(adapters, database=TimedDatabase(adapters.database))
        reads = None if reads is None else TimedReads(reads)
    return adapters, PrimaryReads(adapters.database) if reads is None else reads
