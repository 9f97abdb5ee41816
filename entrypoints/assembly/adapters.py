"""Composition root: the only place that creates adapters, real or in memory."""

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from adapters.argon2 import Argon2Passwords, Cost
from adapters.breaches import AskedBreaches
from adapters.dns.records import DnspythonRecords
from adapters.fido2.ceremonies import Fido2Ceremonies
from adapters.joserfc import (
    Issuance,
    JoserfcEncryptedPasswords,
    JoserfcKeyring,
    JoserfcTokens,
    SealedFactorSecrets,
    SealedRefreshTokens,
    SealedTickets,
    SealedWebhookSecrets,
)
from adapters.memory.admissions import MemoryAdmissions
from adapters.outgoing.client import CheckedRequests
from adapters.outgoing.signing import StandardSigner
from adapters.postgres.connection.poolers import Route
from adapters.postgres.database import PostgresDatabase
from adapters.postgres.entities.usual_statements import compile_usual_statements
from adapters.postgres.migrations.pending import VERSIONS
from adapters.postgres.operations.pending_versions import PostgresPendingVersions
from adapters.postgres.operations.upkeep import PostgresUpkeep
from adapters.postgres.own_queries.sessions import OwnQueries
from adapters.postgres.replicas.reads import ReplicaReads, replica_reads
from adapters.qr.svg import qr_svg
from adapters.redis.address import read_address
from adapters.redis.admissions import RedisAdmissions
from adapters.redis.cache import RedisCache
from adapters.redis.client import redis_client
from adapters.redis.commands import Commands
from adapters.redis.entities.wakes import RedisWakes
from adapters.redis.last_writes import RedisLastWrites
from adapters.redis.lease import Lease
from adapters.redis.shared_pipeline import SharedPipeline
from adapters.sheets.processes import ProcessSheets
from adapters.system import SystemClock, Uuid7Ids
from application.freshness import Freshness
from application.ports.database import RowReads
from application.ports.entities.files import Sheets
from application.ports.entities.webhooks import Signer, WebhookSecrets
from application.ports.identity.accounts import SocialProviders
from application.ports.identity.domains import DnsRecords
from application.ports.identity.factors import FactorSecrets
from application.ports.identity.passkeys import PasskeyCeremonies
from application.ports.identity.passwords import EncryptedPasswords
from application.ports.identity.sessions import RefreshTokens, Tickets, Tokens
from application.ports.identity.signing_keys import Keyring
from application.ports.load import Loads, PoolLoad
from application.ports.mail_delivery import Mailer
from application.ports.outgoing import OutgoingRequests
from application.ports.runtime import BreachedPasswords, Clock, Ids, Passwords
from application.ports.shared_memory import Admissions, Cache, Revocations, Wakes
from application.ports.upkeep import Upkeep
from application.ports.whole_database import Transaction, WholeDatabase
from domain.entities.declaration import Registry
from domain.identity.tokens import Lifetimes
from entrypoints.assembly.entities import load_function, migration_folders
from entrypoints.assembly.files import FileAdapters, file_adapters, file_store
from entrypoints.assembly.mail import mailer_of
from entrypoints.assembly.social import social_providers
from entrypoints.assembly.traces import traces_are_on
from entrypoints.settings.settings import Settings
from entrypoints.settings.this_machine import usable_processors

SELECTION = timedelta(minutes=10)
"""Time for choosing a tenant. Until then, the client can refresh a session without a tenant."""


@dataclass(frozen=True)
class SecondFactorAdapters:
    """Additional adapters for second factors; ``qr_svg`` draws a text as a QR code."""

    secrets: FactorSecrets
    passkeys: PasskeyCeremonies
    qr_svg: Callable[[str], str]


@dataclass(frozen=True)
class WebhookAdapters:
    """Additional adapters for webhooks."""

    outgoing: OutgoingRequests
    signer: Signer
    secrets: WebhookSecrets


@dataclass(frozen=True, kw_only=True)
class Adapters:
    """An adapter for every port; ``life`` opens and closes their resources.

    ``replica_reads`` and ``freshness`` are None without read replicas.
    """

    registry: Registry
    database: WholeDatabase
    replica_reads: RowReads[Transaction] | None
    freshness: Freshness | None
    admissions: Admissions
    revocations: Revocations
    passwords: Passwords
    encrypted_passwords: EncryptedPasswords
    tokens: Tokens
    keyring: Keyring
    social: SocialProviders
    refresh_tokens: RefreshTokens
    tickets: Tickets
    second_factors: SecondFactorAdapters
    webhooks: WebhookAdapters
    cache: Cache
    wakes: Wakes
    sheets: Sheets
    files: FileAdapters
    dns: DnsRecords = field(default_factory=DnspythonRecords)  # asks the servers of the machine, whatever the settings
    mailer: Mailer
    upkeep: Upkeep
    clock: Clock
    ids: Ids
    own_queries: OwnQueries | None
    breaches: BreachedPasswords | None
    loads: Loads
    life: Callable[[], AbstractAsyncContextManager[None]]


def production_adapters(settings: Settings, registry: Registry) -> Adapters:
    """Return PostgreSQL and Redis adapters according to the settings. ``life`` opens their connections."""
    clock, ids, outgoing = SystemClock(), Uuid7Ids(), CheckedRequests(settings.webhook_networks)
    database, replicas, pending_versions = _databases(settings, registry, ids)
    commands, pipeline, wakes = _shared_memory(settings)
    admissions = _admissions(settings, Lease(pipeline, pending_versions, commands=commands), clock)
    passwords, keyring, social = _passwords(settings), _keyring(settings), social_providers(settings, clock)

    @asynccontextmanager
    async def life() -> AsyncIterator[None]:
        # Close each part, even if another one failed.
        async with AsyncExitStack() as parts:
            parts.callback(passwords.close)
            # Close the pipeline and the pending versions directly after the lease, because the lease needs them.
            for part in (social, outgoing, database, replicas, pending_versions, pipeline):
                parts.push_async_callback(part.close)
            await database.open()
            await replicas.open()
            async with admissions.kept():
                yield

    return Adapters(
        registry=registry,
        database=database,
        replica_reads=replicas if replicas.replicas else None,
        freshness=_freshness(settings, pipeline, replicas),
        admissions=admissions,
        revocations=admissions,
        passwords=passwords,
        encrypted_passwords=keyring.passwords,
        tokens=keyring.tokens,
        keyring=keyring,
        social=social,
        refresh_tokens=_refresh_tokens(settings),
        tickets=SealedTickets(*secret_keys(settings)),
        second_factors=_second_factors(settings),
        webhooks=_webhooks(settings, outgoing),
        cache=RedisCache(pipeline, prefix=settings.redis_prefix),
        wakes=wakes,
        sheets=ProcessSheets(),
        files=file_adapters(settings, file_store(settings), settings.data_dir / "tmp"),
        mailer=mailer_of(settings),
        upkeep=PostgresUpkeep(settings.owner_url, registry),
        clock=clock,
        ids=ids,
        own_queries=database.own_queries,
        breaches=_breaches(settings),
        loads=Loads(database.load, passwords.load, replicas.load),
        life=life,
    )


def serving_adapters(settings: Settings, registry: Registry) -> Adapters:
    """Return production adapters. Their ``life`` first compiles the usual SQL, so requests do not wait for it."""
    adapters = production_adapters(settings, registry)

    @asynccontextmanager
    async def life() -> AsyncIterator[None]:
        compile_usual_statements(registry)
        async with adapters.life():
            yield

    return replace(adapters, life=life)


def _database_url(settings: Settings) -> str:
    assert settings.database_url is not None
    return settings.database_url.reveal()


def memory_adapters(settings: Settings, registry: Registry) -> Adapters:
    """Return adapters in this process's memory. The clock moves only on request; password hashing is cheap."""
    from adapters.memory.cache import MemoryCache  # the service with real adapters does not need these modules
    from adapters.memory.clock import CountingIds, MovableClock
    from adapters.memory.database import MemoryDatabase
    from adapters.memory.dns import MemoryDnsRecords
    from adapters.memory.entities.attachments.objects import MemoryFileStore
    from adapters.memory.identity.social import MemorySocialProviders
    from adapters.memory.mail import MemoryMailer
    from adapters.memory.outgoing import MemoryRequests
    from adapters.memory.upkeep import MemoryUpkeep
    from adapters.memory.wakes import MemoryWakes

    clock, ids = MovableClock(), CountingIds()
    database, admissions, keyring = MemoryDatabase(registry, ids), MemoryAdmissions(clock), _keyring(settings)
    passwords = Argon2Passwords(Cost(memory_kib=8, passes=1), cores=1)
    redirecting = [name for name, given in settings.social.items() if given.client_secret]
    return Adapters(
        registry=registry,
        database=database,
        replica_reads=None,
        freshness=None,
        admissions=admissions,
        revocations=admissions,
        passwords=passwords,
        encrypted_passwords=keyring.passwords,
        tokens=keyring.tokens,
        keyring=keyring,
        social=MemorySocialProviders(settings.social, redirecting=redirecting),
        refresh_tokens=_refresh_tokens(settings),
        tickets=SealedTickets(*secret_keys(settings)),
        second_factors=_second_factors(settings),
        webhooks=_webhooks(settings, MemoryRequests()),
        cache=MemoryCache(clock),
        wakes=MemoryWakes(),
        sheets=ProcessSheets(),
        files=file_adapters(settings, MemoryFileStore()),
        dns=MemoryDnsRecords(),
        mailer=MemoryMailer(),
        upkeep=MemoryUpkeep(database),
        clock=clock,
        ids=ids,
        own_queries=None,
        breaches=_breaches(settings),
        loads=Loads(PoolLoad, passwords.load),
        life=partial(_closing, passwords),
    )


@asynccontextmanager
async def _closing(passwords: Argon2Passwords) -> AsyncIterator[None]:
    with closing(passwords):
        yield


@asynccontextmanager
async def open_adapters(settings: Settings, registry: Registry) -> AsyncIterator[Adapters]:
    adapters = production_adapters(settings, registry)
    async with adapters.life():
        yield adapters


def lifetimes(settings: Settings) -> Lifetimes:
    return Lifetimes(
        access=timedelta(minutes=settings.access_token_minutes),
        global_access=timedelta(minutes=settings.global_token_minutes),
        unused=timedelta(days=settings.refresh_token_days),
        session=timedelta(days=settings.session_days),
        selection=SELECTION,
        grace=timedelta(seconds=settings.refresh_grace_seconds),
    )


def _databases(
    settings: Settings, registry: Registry, ids: Ids
) -> tuple[PostgresDatabase, ReplicaReads, PostgresPendingVersions]:
    url, connections = _database_url(settings), settings.database_connections
    pooler: Route = "citus" if settings.database_kind == "citus" else settings.database_pooler
    folders = (VERSIONS, *migration_folders(settings.entities))
    database = PostgresDatabase(url, registry, ids, connections, migrations=folders, pooler=pooler)
    replicas = replica_reads(database, [url.reveal() for url in settings.database_replica_urls])
    return database, replicas, PostgresPendingVersions(database.url, database.pooler)


def _shared_memory(settings: Settings) -> tuple[Commands, SharedPipeline, RedisWakes]:
    assert settings.redis_url is not None
    url = settings.redis_url.reveal()
    commands = Commands(settings.redis_prefix, spread=read_address(url).kind == "cluster")
    pipeline = _pipeline()(redis_client(url), look_up=commands.look())
    return commands, pipeline, RedisWakes(pipeline, partial(redis_client, url), prefix=settings.redis_prefix)


def _admissions(settings: Settings, lease: Lease, clock: SystemClock) -> RedisAdmissions:
    assert settings.redis_url is not None
    may_fail_over = read_address(settings.redis_url.reveal()).kind != "server"
    return RedisAdmissions(lease, MemoryAdmissions(clock), keeps_count=may_fail_over)


def _pipeline() -> type[SharedPipeline]:
    if not traces_are_on(os.environ):
        return SharedPipeline
    from adapters.redis.traced_pipeline import TracedPipeline  # needs optional packages

    return TracedPipeline


def _freshness(settings: Settings, pipeline: SharedPipeline, replicas: ReplicaReads) -> Freshness | None:
    return Freshness(RedisLastWrites(pipeline, prefix=settings.redis_prefix), replicas) if replicas.replicas else None


def _breaches(settings: Settings) -> BreachedPasswords | None:
    return AskedBreaches(load_function(settings.breached_passwords)) if settings.breached_passwords else None


def _passwords(settings: Settings) -> Argon2Passwords:
    # More threads than processors would only make all hashes slower. The workers share the processors.
    return Argon2Passwords(Cost(), cores=max(1, usable_processors() // settings.workers))


def _keyring(settings: Settings) -> JoserfcKeyring:
    allowed, (key, other) = lifetimes(settings), secret_keys(settings)
    longest = max(allowed.access, allowed.global_access, timedelta(minutes=settings.service_token_minutes))
    issuance = Issuance(issuer=settings.base_url, audience=settings.base_url, lifetime=longest)
    return JoserfcKeyring(JoserfcTokens(key, issuance, other), JoserfcEncryptedPasswords(key, other))


def _second_factors(settings: Settings) -> SecondFactorAdapters:
    # Both kinds of adapters use these objects, because they neither store data nor access the network.
    ceremonies = Fido2Ceremonies(settings.passkey_rp_id, settings.totp_issuer, frozenset(settings.passkey_origins))
    return SecondFactorAdapters(SealedFactorSecrets(*secret_keys(settings)), ceremonies, qr_svg)


def _webhooks(settings: Settings, outgoing: OutgoingRequests) -> WebhookAdapters:
    return WebhookAdapters(outgoing, StandardSigner(), SealedWebhookSecrets(*secret_keys(settings)))


def _refresh_tokens(settings: Settings) -> SealedRefreshTokens:
    return SealedRefreshTokens(*secret_keys(settings))


def secret_keys(settings: Settings) -> tuple[str, str | None]:
    """Return the sealing secret, and the second secret that the service accepts during a change of the secret."""
    assert settings.secret_key is not None
    other = settings.other_secret_key
    return settings.secret_key.reveal(), None if other is None else other.reveal()
