"""Use cases on adapters, and the application on those."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from urllib.parse import urlsplit

from litestar.config.compression import CompressionConfig
from litestar.config.cors import CORSConfig
from litestar.exceptions import ImproperlyConfiguredException
from litestar.types import ControllerRouterHandler

from adapters.http.app import HttpSettings, build_app
from adapters.http.docs.pages import About
from adapters.http.operations.access_log import AccessLog, log_access
from adapters.http.plugin import NoPolicy, ServedTwice
from adapters.http.use_cases import UseCases
from application.entities.batches import Batches
from application.entities.cross_tenant_access import CrossTenantAccess
from application.entities.crud import Crud
from application.entities.descriptions import Descriptions
from application.entities.histories import Histories
from application.entities.transfers.exports import FileExport
from application.entities.transfers.imports import FileImport
from application.entities.transfers.places import TransferPlaces
from application.entities.writing import RowWriter
from application.identity.accounts import Accounts
from application.identity.administration.memberships import MembershipAdministration
from application.identity.administration.roles import RoleAdministration
from application.identity.administration.tenants import TenantAdministration
from application.identity.administration.users import UserAdministration
from application.identity.factors.resets import FactorResets
from application.identity.login.applications import RegisteredApplications
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.constant_time_passwords import ConstantTimePasswords
from application.identity.login.encrypted_passwords import PasswordReader
from application.identity.login.gate import SecondFactorGate
from application.identity.login.issuing import SignInPolicy, TokenIssuing
from application.identity.login.sign_in import SignIn
from application.identity.login.social_accounts import SocialAccounts
from application.identity.login.social_sign_in import SocialSignIn
from application.identity.my_sessions import MySessions
from application.identity.profiles import Profiles
from application.identity.registration import Registration, RegistrationPolicy
from application.operations.first_start import FirstStart
from application.operations.housekeeping import Housekeeping
from application.operations.mail_delivery import OutboxRelay
from application.operations.signing_keys import KeyRotation
from application.throttle import Throttle
from domain.limits import Lockout
from entrypoints.composition import Adapters, lifetimes
from entrypoints.entities import EntitiesError, load_routes, where_raised
from entrypoints.factors import FactorUseCases, assemble_factors
from entrypoints.mail import relay_of
from entrypoints.settings.settings import Settings
from entrypoints.timed_database import TimedDatabase

EXPOSED = (
    "ETag",
    "Location",
    "Retry-After",
    "Idempotent-Replayed",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "X-Request-Id",
)
"""Headers of responses that scripts of other origins may read."""

EXPORTS = "/export$"


@dataclass(frozen=True, kw_only=True)
class Services(UseCases):
    """Use cases of the handlers, and those that no request asks for."""

    first_start: FirstStart
    signing_keys: KeyRotation
    relay: OutboxRelay
    housekeeping: Housekeeping


def assemble(adapters: Adapters, settings: Settings) -> Services:
    if settings.server_timing:
        adapters = replace(adapters, database=TimedDatabase(adapters.database))
    database, clock, ids, revocations = adapters.database, adapters.clock, adapters.ids, adapters.revocations
    writing = RowWriter(database, adapters.registry, clock)
    places = TransferPlaces()
    factors = _factors(adapters, settings)
    return Services(
        sign_in=factors.sign_in,
        reauthentication=factors.reauthentication,
        factor_reproofs=factors.reproofs,
        second_factor=factors.second_factor,
        passkey_login=factors.passkey_login,
        my_factors=factors.my_factors,
        factor_resets=FactorResets(database, revocations, clock, ids),
        passkey_origins=settings.passkey_origins,
        outcomes=factors.outcomes,
        social_sign_in=_social_sign_in(adapters, settings),
        registration=_registration(adapters, settings),
        accounts=_accounts(adapters, settings),
        my_sessions=MySessions(database, revocations, clock, lifetimes(settings)),
        profiles=Profiles(database, adapters.cache),
        users=UserAdministration(database, revocations, adapters.passwords, adapters.cache, clock, ids),
        roles=RoleAdministration(database, revocations, adapters.registry, clock, ids),
        tenants=TenantAdministration(database, revocations, adapters.cache, clock, ids),
        memberships=MembershipAdministration(database, revocations, adapters.cache, clock),
        descriptions=Descriptions(adapters.registry),
        crud=Crud(database, writing, ids),
        batches=Batches(writing, ids),
        histories=Histories(database),
        cross_tenant_access=CrossTenantAccess(database, clock),
        exporting=FileExport(database, adapters.registry, adapters.sheets, places),
        importing=FileImport(database, adapters.registry, clock, adapters.sheets, adapters.upkeep, places),
        throttle=Throttle(adapters.admissions, database, enforced=settings.rate_limits == "on"),
        first_start=FirstStart(database, adapters.passwords, clock, ids),
        signing_keys=KeyRotation(database, adapters.keyring, clock),
        relay=relay_of(database, adapters.mailer, clock, settings),
        housekeeping=Housekeeping(database, adapters.upkeep, clock, lifetimes(settings)),
        registry=adapters.registry,
        database=database,
        admissions=adapters.admissions,
        tokens=adapters.tokens,
        keyring=adapters.keyring,
        clock=clock,
        own_queries=adapters.own_queries,
    )


def _registration(adapters: Adapters, settings: Settings) -> Registration:
    return Registration(
        adapters.database,
        adapters.passwords,
        _password_reader(adapters, strict=False),
        adapters.clock,
        adapters.ids,
        RegistrationPolicy(default_tenant=settings.default_tenant, confirm_email=settings.confirm_email),
    )


def _accounts(adapters: Adapters, settings: Settings) -> Accounts:
    return Accounts(
        database=adapters.database,
        passwords=adapters.passwords,
        password_reader=_password_reader(adapters, strict=False),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
        lockout=_lockout(settings),
    )


def _password_reader(adapters: Adapters, *, strict: bool) -> PasswordReader:
    return PasswordReader(adapters.database, adapters.encrypted_passwords, adapters.clock, strict)


def ensure_routes_served(services: Services, settings: Settings) -> None:
    """Before any worker is started, which could only die of it. Raises EntitiesError.

    Without routes of one's own nothing can clash, and the start is spared the asking.
    """
    if routes := load_routes(settings.entities):
        with told_as_mistakes():
            build_app(services, http_settings(settings, routes))


@contextmanager
def told_as_mistakes() -> Iterator[None]:
    """Whatever is wrong with a user's routes when they are registered, as EntitiesError."""
    try:
        yield
    except ServedTwice as error:
        raise EntitiesError(error.mistakes) from None
    except (NoPolicy, ImproperlyConfiguredException) as error:
        raise EntitiesError([f"ROUTES: {error}"]) from None
    except EntitiesError:
        raise
    except Exception as error:  # annotations of a user's handler may raise anything
        raise EntitiesError([f"ROUTES cannot be served: {where_raised(error)}"]) from error


def http_settings(
    settings: Settings, routes: Sequence[ControllerRouterHandler] = (), log: AccessLog = log_access
) -> HttpSettings:
    return HttpSettings(
        about=About(
            root=settings.docs_root,
            title=settings.docs_title,
            version=settings.docs_version,
            description=settings.docs_description,
            contact_name=settings.docs_contact_name,
            contact_email=settings.docs_contact_email,
            contact_url=settings.docs_contact_url,
            license_url=settings.docs_license_url,
        ),
        trusted_proxies=settings.trusted_proxies,
        counts_limits=settings.rate_limits != "off",
        server_timing=settings.server_timing,
        log=log,
        metrics_token=settings.metrics_token.reveal() if settings.metrics_token else None,
        routes=tuple(routes),
        cors=_cors(settings),
        allowed_hosts=settings.allowed_hosts,
        is_https=_is_https(settings.base_url),
        recent=timedelta(minutes=settings.reauth_minutes),
        compression=_compression(settings),
    )


def _cors(settings: Settings) -> CORSConfig | None:
    """Browsers on these origins may call, and see what a client needs; cookies are never asked for."""
    if not settings.cors_origins:
        return None
    return CORSConfig(allow_origins=list(settings.cors_origins), expose_headers=list(EXPOSED))


def _compression(settings: Settings) -> CompressionConfig | None:
    """Exports stay as they are: compressing a stream piece by piece would hold back what has been read."""
    return CompressionConfig("gzip", exclude=EXPORTS) if settings.compression == "gzip" else None


def _sign_in(adapters: Adapters, settings: Settings) -> SignIn:
    return SignIn(
        database=adapters.database,
        authentication=_authentication(adapters, settings),
        issuing=_issuing(adapters, settings),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
    )


def _factors(adapters: Adapters, settings: Settings) -> FactorUseCases:
    return assemble_factors(
        adapters,
        sign_in=_sign_in(adapters, settings),
        authentication=_authentication(adapters, settings),
        issuing=_issuing(adapters, settings),
        issuer=settings.totp_issuer,
    )


def _authentication(adapters: Adapters, settings: Settings) -> PasswordAuthentication:
    return PasswordAuthentication(
        adapters.database,
        ConstantTimePasswords(adapters.passwords, adapters.database),
        _password_reader(adapters, strict=settings.strict_password_encryption),
        adapters.clock,
        _lockout(settings),
    )


def _issuing(adapters: Adapters, settings: Settings) -> TokenIssuing:
    registered = RegisteredApplications(
        adapters.database, adapters.registry["applications"], settings.require_registered_app
    )
    return TokenIssuing(
        database=adapters.database,
        applications=registered,
        tokens=adapters.tokens,
        refresh_tokens=adapters.refresh_tokens,
        clock=adapters.clock,
        ids=adapters.ids,
        policy=_sign_in_policy(settings),
        gate=SecondFactorGate(adapters.tickets, settings.require_mfa_for),
    )


def _social_sign_in(adapters: Adapters, settings: Settings) -> SocialSignIn:
    accounts = SocialAccounts(
        database=adapters.database,
        registration=_registration(adapters, settings),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
    )
    return SocialSignIn(adapters.social, accounts, _sign_in(adapters, settings))


def _sign_in_policy(settings: Settings) -> SignInPolicy:
    return SignInPolicy(
        lifetimes=lifetimes(settings),
        confirm_email=settings.confirm_email,
        password_max_age_days=settings.password_max_age_days,
        issuer=settings.base_url,
        audience=settings.base_url,
    )


def _lockout(settings: Settings) -> Lockout:
    return Lockout(settings.lockout_attempts, timedelta(minutes=settings.lockout_minutes))


def _is_https(base_url: str) -> bool:
    """Whether browsers may be told to come by https alone: on localhost that would hold for every other project too."""
    parts = urlsplit(base_url)
    host = parts.hostname or ""
    return parts.scheme == "https" and host != "localhost" and not host.endswith(".localhost")
