"""Use cases on adapters."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from importlib.metadata import version
from typing import TypedDict
from urllib.parse import urlsplit

from adapters.http.use_cases import UseCases
from adapters.prometheus.outcomes import CodeCounts, InvitationCounts, SecondFactorCounts
from application.denied_operations import DeniedOperations
from application.entities.batches import Batches
from application.entities.cross_tenant_access import CrossTenantAccess
from application.entities.crud import Crud
from application.entities.descriptions import Descriptions
from application.entities.histories import Histories
from application.entities.transfers.exports import CallersExport, FileExport
from application.entities.transfers.imports import FileImport
from application.entities.transfers.transfer_slots import TransferSlots
from application.entities.writing import RowWriter
from application.identity.account.accounts import Accounts
from application.identity.account.registration import Registration, RegistrationPolicy
from application.identity.administration.held_permissions import HeldPermissions
from application.identity.administration.member_sessions import MemberSessions
from application.identity.administration.memberships import MembershipAdministration
from application.identity.administration.operator_accounts import OperatorAccounts
from application.identity.administration.roles import RoleAdministration
from application.identity.administration.tenants import TenantAdministration
from application.identity.administration.users import UserAdministration
from application.identity.joining.departures import Departures
from application.identity.joining.domain_checks import DomainChecks
from application.identity.joining.domain_joining import DomainJoining
from application.identity.login.token_authentication import TokenAuthentication
from application.identity.passwords.password_rules import PasswordRules
from application.identity.self_service.my_sessions import MySessions
from application.identity.self_service.own_profile import OwnProfile
from application.identity.self_service.profiles import Profiles
from application.identity.service_accounts.key_expiry import KeyExpiry
from application.identity.service_accounts.last_uses import LastUses
from application.identity.social.social_accounts import SocialAccounts
from application.identity.social.social_redirect import SocialRedirect
from application.identity.social.social_sign_in import SocialSignIn
from application.operations.first_start import FirstStart
from application.operations.housekeeping import Housekeeping
from application.operations.mail_delivery import OutboxRelay
from application.operations.monitoring import Monitoring
from application.operations.signing_keys import KeyRotation
from application.operations.system_reports import SystemReports
from application.ports.database import RowReads
from application.ports.whole_database import Transaction
from application.primary_reads import PrimaryReads
from application.throttle import Throttle
from domain.entities.declaration import Registry
from domain.parts.composition import AREAS, OWN_PERMISSIONS
from domain.retention import DatedRecords
from domain.scope import Permission, registered
from entrypoints.assembly.adapters import Adapters, lifetimes
from entrypoints.assembly.joining import JoiningUseCases, departures_of, email_changes_of, joining_use_cases
from entrypoints.assembly.logins import assemble_logins, lockout_of, password_reader, sign_in_of, targets_of
from entrypoints.assembly.mail import relay_of
from entrypoints.assembly.service_accounts import service_account_use_cases
from entrypoints.assembly.timed import TimedDatabase, TimedReads, TimedThrottle, TimedTokens
from entrypoints.settings.as_text import settings_as_text
from entrypoints.settings.settings import Settings


class TransferUseCases(TypedDict):
    """Use cases of files, which share their slots."""

    exporting: CallersExport
    importing: FileImport


class Throttled(TypedDict):
    """The throttle, and the metrics that tell its counts."""

    throttle: Throttle
    monitoring: Monitoring


@dataclass(frozen=True, kw_only=True)
class Services(UseCases):
    """Use cases of the handlers, and those that no request asks for."""

    invitation_counts: InvitationCounts
    factor_counts: SecondFactorCounts
    code_counts: CodeCounts
    operator_accounts: OperatorAccounts
    first_start: FirstStart
    signing_keys: KeyRotation
    relay: OutboxRelay
    housekeeping: Housekeeping
    last_uses: LastUses
    key_expiry: KeyExpiry
    domain_checks: DomainChecks


def assemble(adapters: Adapters, settings: Settings) -> Services:
    adapters, reads = _timed(adapters, settings)
    database, clock, ids, revocations = adapters.database, adapters.clock, adapters.ids, adapters.revocations
    writing = RowWriter(database, adapters.registry, clock)
    counts, throttled = InvitationCounts(), _throttled(adapters, settings)
    # One for the whole process: every way to log in shares what is known of domains.
    departures = departures_of(settings)
    joining = DomainJoining(database, departures, counts, clock, ids)
    return Services(
        **vars(assemble_logins(adapters, settings, joining)),
        **_social(adapters, settings, joining),
        registration=_registration(adapters, settings),
        accounts=_accounts(adapters, settings),
        my_sessions=MySessions(database, revocations, clock, lifetimes(settings), _recent(settings)),
        member_sessions=MemberSessions(database, revocations, clock, lifetimes(settings)),
        profiles=Profiles(database, adapters.cache, clock),
        own_profile=OwnProfile(database, adapters.cache, clock),
        users=_users(adapters, settings, departures),
        held_permissions=HeldPermissions(database),
        roles=RoleAdministration(database, revocations, _required_permissions(adapters.registry), clock, ids),
        tenants=TenantAdministration(database, revocations, adapters.cache, clock, ids),
        memberships=MembershipAdministration(database, departures, revocations, adapters.cache, clock, ids),
        **_joining(adapters, settings, joining, counts),
        **service_account_use_cases(adapters, settings),
        descriptions=Descriptions(adapters.registry, AREAS),
        crud=Crud(reads, writing, ids),
        batches=Batches(writing, ids),
        histories=Histories(reads),
        cross_tenant_access=CrossTenantAccess(database, clock),
        denied_operations=DeniedOperations(database, clock),
        **_transfers(adapters, reads, throttled["throttle"]),
        **throttled,
        operator_accounts=_operator_accounts(adapters, settings),
        system_reports=_system_reports(adapters, settings),
        first_start=FirstStart(database, adapters.passwords, _password_rules(adapters, settings), clock, ids),
        signing_keys=KeyRotation(database, adapters.keyring, clock),
        relay=relay_of(database, adapters.mailer, clock, settings),
        housekeeping=Housekeeping(database, adapters.upkeep, clock, lifetimes(settings), _kept(settings)),
        registry=adapters.registry,
        database=database,
        freshness=adapters.freshness,
        admissions=adapters.admissions,
        tokens=adapters.tokens,
        token_authentication=(TimedTokens if settings.server_timing else TokenAuthentication)(adapters.tokens),
        keyring=adapters.keyring,
        clock=clock,
        own_queries=adapters.own_queries,
    )


def _timed(adapters: Adapters, settings: Settings) -> tuple[Adapters, RowReads[Transaction]]:
    """Adapters whose database is timed where the settings ask for it, and reads of rows that are."""
    reads = adapters.replica_reads
    if settings.server_timing:
        adapters = replace(adapters, database=TimedDatabase(adapters.database))
        reads = None if reads is None else TimedReads(reads)
    return adapters, PrimaryReads(adapters.database) if reads is None else reads


def _required_permissions(registry: Registry) -> list[Permission]:
    return [*OWN_PERMISSIONS, *(registered(name, "entities") for name in registry.permissions())]


def _registration(adapters: Adapters, settings: Settings) -> Registration:
    return Registration(
        adapters.database,
        adapters.passwords,
        password_reader(adapters, strict=False),
        _password_rules(adapters, settings),
        adapters.clock,
        adapters.ids,
        RegistrationPolicy(
            default_tenant=settings.default_tenant,
            confirm_email=settings.confirm_email,
            is_open=settings.self_registration,
        ),
    )


def _accounts(adapters: Adapters, settings: Settings) -> Accounts:
    return Accounts(
        database=adapters.database,
        passwords=adapters.passwords,
        password_reader=password_reader(adapters, strict=False),
        password_rules=_password_rules(adapters, settings),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
        lockout=lockout_of(settings),
        changes=email_changes_of(adapters, settings),
    )


def _users(adapters: Adapters, settings: Settings, departures: Departures) -> UserAdministration:
    return UserAdministration(
        adapters.database,
        departures,
        adapters.revocations,
        adapters.passwords,
        _password_rules(adapters, settings),
        adapters.cache,
        adapters.clock,
        adapters.ids,
        _recent(settings),
    )


def _joining(
    adapters: Adapters, settings: Settings, joining: DomainJoining, counts: InvitationCounts
) -> JoiningUseCases:
    reader, rules = password_reader(adapters, strict=False), _password_rules(adapters, settings)
    # A new account is let in by the second half of a login, as a social one is.
    return joining_use_cases(adapters, settings, sign_in_of(adapters, settings, joining), reader, rules, counts)


def _system_reports(adapters: Adapters, settings: Settings) -> SystemReports:
    return SystemReports(
        adapters.database,
        adapters.admissions,
        adapters.clock,
        version("tenantry"),
        "smtp" if settings.smtp_url else "files",
        settings_as_text(settings),
    )


def _transfers(adapters: Adapters, reads: RowReads[Transaction], throttle: Throttle) -> TransferUseCases:
    registry, clock, sheets, slots = adapters.registry, adapters.clock, adapters.sheets, TransferSlots()
    return {
        "exporting": CallersExport(FileExport(reads, registry, sheets), slots, throttle, clock),
        "importing": FileImport(adapters.database, registry, clock, sheets, adapters.upkeep, slots),
    }


def _throttled(adapters: Adapters, settings: Settings) -> Throttled:
    database, admissions = adapters.database, adapters.admissions
    kind = TimedThrottle if settings.server_timing else Throttle
    throttle = kind(admissions, database, enforced=settings.rate_limits == "on")
    monitoring = Monitoring(database, admissions, adapters.clock, adapters.loads, throttle.counts)
    return {"throttle": throttle, "monitoring": monitoring}


def _operator_accounts(adapters: Adapters, settings: Settings) -> OperatorAccounts:
    rules = _password_rules(adapters, settings)
    return OperatorAccounts(
        adapters.database, adapters.revocations, adapters.passwords, rules, adapters.cache, adapters.clock
    )


def _kept(settings: Settings) -> Mapping[DatedRecords, timedelta]:
    days = {
        DatedRecords.EVENTS: settings.audit_retention_days,
        DatedRecords.HISTORIES: settings.history_retention_days,
    }
    return {records: timedelta(days=number) for records, number in days.items() if number}


def _recent(settings: Settings) -> timedelta:
    """The greatest age of a proof that counts as recent."""
    return timedelta(minutes=settings.reauth_minutes)


def _password_rules(adapters: Adapters, settings: Settings) -> PasswordRules:
    host = urlsplit(settings.base_url).hostname or ""
    # of an address only numbers would be left, and what is before the last dot says whose host it is
    names = (host, *host.split(".")[:-1]) if any(char.isalpha() for char in host) else ()
    return PasswordRules((settings.docs_title, *names), adapters.breaches)


class SocialUseCases(TypedDict):
    """Use cases of logins at social providers, named as in ``UseCases``."""

    social_sign_in: SocialSignIn
    social_redirect: SocialRedirect


def _social(adapters: Adapters, settings: Settings, joining: DomainJoining) -> SocialUseCases:
    accounts = SocialAccounts(
        database=adapters.database,
        registration=_registration(adapters, settings),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
    )
    sign_in = sign_in_of(adapters, settings, joining)
    redirect = SocialRedirect(
        database=adapters.database,
        providers=adapters.social,
        accounts=accounts,
        sign_in=sign_in,
        tickets=adapters.tickets,
        targets=targets_of(adapters, settings),
        clock=adapters.clock,
        base_url=settings.base_url,
    )
    return {"social_sign_in": SocialSignIn(adapters.social, accounts, sign_in), "social_redirect": redirect}
