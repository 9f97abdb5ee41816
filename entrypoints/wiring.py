"""The use cases on a world of ports, and the application on those."""

from dataclasses import dataclass, replace
from datetime import timedelta

from adapters.http.access import AccessLog, log_access
from adapters.http.app import Application, HttpSettings, build_app, endpoints
from adapters.http.docs import About
from adapters.http.framework import Lifespan
from adapters.http.metrics import NothingCounted
from adapters.http.routes import Routes, ServedTwice
from application.accounts import Accounts
from application.applications import RegisteredApplications
from application.authentication import PasswordAuthentication
from application.batches import Batches
from application.bypass import Bypass
from application.crud import Crud
from application.first_start import FirstStart
from application.histories import Histories
from application.housekeeping import Housekeeping
from application.memberships import Memberships
from application.own_sessions import OwnSessions
from application.ports.admissions import Admissions
from application.ports.database import WholeDatabase
from application.ports.keys import Keyring
from application.ports.sessions import Tokens
from application.ports.world import Clock
from application.post import Relay
from application.profiles import Profiles
from application.registration import Registration, RegistrationPolicy
from application.roles import Roles
from application.sent_passwords import PasswordReader
from application.sign_in import SignIn, SignInPolicy
from application.signing_keys import SigningKeys
from application.social_accounts import SocialAccounts
from application.social_sign_in import SocialSignIn
from application.tenants import Tenants
from application.throttle import Throttle
from application.transfer import Transfer
from application.unhurried_passwords import UnhurriedPasswords
from application.users import Users
from application.writing import Writing
from domain.entity import Registry
from domain.identity import Lockout
from entrypoints.entities import EntitiesError, broken_endpoints, load_endpoints
from entrypoints.mailing import relay_of
from entrypoints.settings import Settings
from entrypoints.timed_database import TimedDatabase
from entrypoints.worlds import World, lifetimes


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
