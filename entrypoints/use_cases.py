"""The use cases on a world of ports, and the application on those."""

from dataclasses import dataclass, replace
from datetime import timedelta

from adapters.http.app import Application, HttpSettings, build_app, endpoints
from adapters.http.docs.page import About
from adapters.http.operations.access_log import AccessLog, log_access
from adapters.http.operations.metrics import NothingCounted
from adapters.http.request.framework import Lifespan
from adapters.http.request.routes import Routes, ServedTwice
from application.entities.batches import Batches
from application.entities.cross_tenant_access import Bypass
from application.entities.crud import Crud
from application.entities.histories import Histories
from application.entities.transfers import Transfer
from application.entities.writing import Writing
from application.identity.accounts import Accounts
from application.identity.administration.memberships import Memberships
from application.identity.administration.roles import Roles
from application.identity.administration.tenants import Tenants
from application.identity.administration.users import Users
from application.identity.login.applications import RegisteredApplications
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.constant_time_passwords import UnhurriedPasswords
from application.identity.login.encrypted_passwords import PasswordReader
from application.identity.login.sign_in import SignIn, SignInPolicy
from application.identity.login.social_accounts import SocialAccounts
from application.identity.login.social_sign_in import SocialSignIn
from application.identity.my_sessions import OwnSessions
from application.identity.profiles import Profiles
from application.identity.registration import Registration, RegistrationPolicy
from application.operations.first_start import FirstStart
from application.operations.housekeeping import Housekeeping
from application.operations.mail_delivery import Relay
from application.operations.signing_keys import SigningKeys
from application.ports.admissions import Admissions
from application.ports.clock import Clock
from application.ports.identity.sessions import Tokens
from application.ports.identity.signing_keys import Keyring
from application.ports.whole_database import WholeDatabase
from application.throttle import Throttle
from domain.entities.declaration import Registry
from domain.identity.users import Lockout
from entrypoints.composition import World, lifetimes
from entrypoints.entities import EntitiesError, broken_endpoints, load_endpoints
from entrypoints.mail import relay_of
from entrypoints.settings.settings import Settings
from entrypoints.timed_database import TimedDatabase


@dataclass(frozen=True, kw_only=True)
class Services:
    """All use cases, and the ports that the doors ask themselves."""

    sign_in: SignIn
    social_sign_in: SocialSignIn
    registration: Registration
    accounts: Accounts
    own_sessions: OwnSessions
    profiles: Profiles
    users: Users
    roles: Roles
    tenants: Tenants
    memberships: Memberships
    crud: Crud
    batches: Batches
    histories: Histories
    bypass: Bypass
    transfer: Transfer
    throttle: Throttle
    first_start: FirstStart
    signing_keys: SigningKeys
    relay: Relay
    housekeeping: Housekeeping
    registry: Registry
    database: WholeDatabase
    admissions: Admissions
    tokens: Tokens
    keyring: Keyring
    clock: Clock


def assemble(world: World, settings: Settings) -> Services:
    if settings.server_timing:
        world = replace(world, database=TimedDatabase(world.database))
    database, clock, ids, revocations = world.database, world.clock, world.ids, world.revocations
    writing = Writing(database, world.registry, clock)
    return Services(
        sign_in=_sign_in(world, settings),
        social_sign_in=_social_sign_in(world, settings),
        registration=_registration(world, settings),
        accounts=_accounts(world, settings),
        own_sessions=OwnSessions(database, revocations, clock, lifetimes(settings)),
        profiles=Profiles(database, world.cache),
        users=Users(database, revocations, world.passwords, world.cache, clock, ids),
        roles=Roles(database, revocations, world.registry, clock, ids),
        tenants=Tenants(database, revocations, world.cache, clock, ids),
        memberships=Memberships(database, revocations, world.cache, clock),
        crud=Crud(database, writing, ids),
        batches=Batches(writing, ids),
        histories=Histories(database),
        bypass=Bypass(database, clock),
        transfer=Transfer(database, world.registry, clock, world.sheets),
        throttle=Throttle(world.admissions, database, enforced=settings.rate_limits == "on"),
        first_start=FirstStart(database, world.passwords, clock, ids),
        signing_keys=SigningKeys(database, world.keyring, clock),
        relay=relay_of(database, world.mailer, clock, settings),
        housekeeping=Housekeeping(database, clock, lifetimes(settings)),
        registry=world.registry,
        database=database,
        admissions=world.admissions,
        tokens=world.tokens,
        keyring=world.keyring,
        clock=clock,
    )


def _registration(world: World, settings: Settings) -> Registration:
    return Registration(
        world.database,
        world.passwords,
        _sent_passwords(world, strict=False),
        world.clock,
        world.ids,
        RegistrationPolicy(default_tenant=settings.default_tenant, confirm_email=settings.confirm_email),
    )


def _accounts(world: World, settings: Settings) -> Accounts:
    return Accounts(
        database=world.database,
        passwords=world.passwords,
        sent_passwords=_sent_passwords(world, strict=False),
        revocations=world.revocations,
        cache=world.cache,
        clock=world.clock,
        ids=world.ids,
        lockout=_lockout(settings),
    )


def _sent_passwords(world: World, *, strict: bool) -> PasswordReader:
    return PasswordReader(world.database, world.sealed_passwords, world.clock, strict)


def application(services: Services, settings: Settings, lifespan: Lifespan, log: AccessLog) -> Application:
    """Raises EntitiesError for endpoints that cannot be served."""
    try:
        return build_app(services, _http_settings(settings, log), [lifespan])
    except ServedTwice as error:
        raise EntitiesError(error.mistakes) from None


def ensure_endpoints(services: Services, settings: Settings) -> None:
    """Before any worker is started, which could only die of it. Raises EntitiesError.

    Without endpoints of one's own nothing can clash, and the start is spared the asking.
    """
    if not load_endpoints(settings.entities):
        return
    mistakes = list(broken_endpoints(settings.entities, services))
    if not mistakes:
        try:
            Routes(endpoints(services, _http_settings(settings, log_access), NothingCounted()))
        except ServedTwice as error:
            mistakes += error.mistakes
    if mistakes:
        raise EntitiesError(mistakes)


def _http_settings(settings: Settings, log: AccessLog) -> HttpSettings:
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
        own=load_endpoints(settings.entities),
    )


def _sign_in(world: World, settings: Settings) -> SignIn:
    registered = RegisteredApplications(world.database, world.registry["applications"], settings.require_registered_app)
    return SignIn(
        database=world.database,
        authentication=PasswordAuthentication(
            world.database,
            UnhurriedPasswords(world.passwords, world.database),
            _sent_passwords(world, strict=settings.strict_password_encryption),
            world.clock,
            _lockout(settings),
        ),
        applications=registered,
        tokens=world.tokens,
        refresh_tokens=world.refresh_tokens,
        revocations=world.revocations,
        cache=world.cache,
        clock=world.clock,
        ids=world.ids,
        policy=_sign_in_policy(settings),
    )


def _social_sign_in(world: World, settings: Settings) -> SocialSignIn:
    accounts = SocialAccounts(
        database=world.database,
        registration=_registration(world, settings),
        revocations=world.revocations,
        cache=world.cache,
        clock=world.clock,
        ids=world.ids,
    )
    return SocialSignIn(world.social, accounts, _sign_in(world, settings))


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
