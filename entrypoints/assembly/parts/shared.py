"""Objects that the use cases of several parts share."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from urllib.parse import urlsplit

from adapters.joserfc.address_digests import KeyedAddressDigests
from adapters.prometheus.outcomes import InvitationCounts
from application.entities.checks.deletions import readable_referrers
from application.identity.joining.domain_joining import DomainJoining
from application.identity.joining.leaving import MemberDepartures
from application.identity.login.applications import RegisteredApplications
from application.identity.login.authentication import PasswordAuthentication
from application.identity.login.gate import SecondFactorGate
from application.identity.login.issuing import SignInPolicy, TokenIssuing
from application.identity.login.keyed_locks import KeyedLocks
from application.identity.login.renewal import SessionRenewal
from application.identity.login.sign_in import SignIn
from application.identity.login.sign_out import SignOut
from application.identity.passwords.constant_time_passwords import ConstantTimePasswords
from application.identity.passwords.encrypted_passwords import PasswordReader
from application.identity.passwords.password_rules import PasswordRules
from domain.entities.declaration import Registry
from domain.lockout import Lockout
from entrypoints.assembly.adapters import Adapters, lifetimes
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class SharedObjects:
    """Objects that several parts share. A process creates each of them once, so all login methods use the same state.

    ``password_reader`` also accepts plain passwords; logins require encrypted passwords if the settings say so.
    """

    departures: MemberDepartures
    invitation_counts: InvitationCounts
    password_rules: PasswordRules
    password_reader: PasswordReader
    authentication: PasswordAuthentication
    applications: RegisteredApplications
    issuing: TokenIssuing
    sign_in: SignIn
    sign_out: SignOut
    renewal: SessionRenewal


def share(adapters: Adapters, settings: Settings) -> SharedObjects:
    database, clock, ids = adapters.database, adapters.clock, adapters.ids
    departures, counts = _departures(settings, adapters.registry), InvitationCounts()
    applications = RegisteredApplications(database, settings.require_registered_app)
    authentication, issuing = _authentication(adapters, settings), _issuing(adapters, settings, applications)
    sign_in = SignIn(
        database=database,
        authentication=authentication,
        issuing=issuing,
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=clock,
        ids=ids,
        joining=DomainJoining(database, departures, counts, clock, ids),
        locks=KeyedLocks(),
    )
    sign_out = SignOut(database, adapters.refresh_tokens, adapters.revocations, clock, ids)
    return SharedObjects(
        departures=departures,
        invitation_counts=counts,
        password_rules=_password_rules(adapters, settings),
        password_reader=_password_reader(adapters, strict=False),
        authentication=authentication,
        applications=applications,
        issuing=issuing,
        sign_in=sign_in,
        sign_out=sign_out,
        renewal=SessionRenewal(database, issuing, sign_out, clock),
    )


def lockout_of(settings: Settings) -> Lockout:
    return Lockout(settings.lockout_attempts, timedelta(minutes=settings.lockout_minutes))


def recent_proof(settings: Settings) -> timedelta:
    """Return the maximum age of a recent proof."""
    return timedelta(minutes=settings.reauth_minutes)


def _departures(settings: Settings, registry: Registry) -> MemberDepartures:
    assert settings.secret_key is not None
    other = settings.other_secret_key.reveal() if settings.other_secret_key else None
    return MemberDepartures(
        KeyedAddressDigests(settings.secret_key.reveal(), other), partial(readable_referrers, registry)
    )


def _password_rules(adapters: Adapters, settings: Settings) -> PasswordRules:
    host = urlsplit(settings.base_url).hostname or ""
    # Passwords must not contain these names: the labels of the host before the last dot identify its owner. Skip IP
    # addresses.
    names = (host, *host.split(".")[:-1]) if any(char.isalpha() for char in host) else ()
    return PasswordRules((settings.docs_title, *names), adapters.breaches)


def _password_reader(adapters: Adapters, *, strict: bool) -> PasswordReader:
    return PasswordReader(adapters.database, adapters.encrypted_passwords, adapters.clock, strict)


def _authentication(adapters: Adapters, settings: Settings) -> PasswordAuthentication:
    return PasswordAuthentication(
        adapters.database,
        ConstantTimePasswords(adapters.passwords, adapters.database),
        _password_reader(adapters, strict=settings.strict_password_encryption),
        adapters.clock,
        lockout_of(settings),
    )


def _issuing(adapters: Adapters, settings: Settings, applications: RegisteredApplications) -> TokenIssuing:
    return TokenIssuing(
        database=adapters.database,
        applications=applications,
        tokens=adapters.tokens,
        refresh_tokens=adapters.refresh_tokens,
        clock=adapters.clock,
        ids=adapters.ids,
        policy=SignInPolicy(
            lifetimes=lifetimes(settings),
            confirm_email=settings.confirm_email,
            password_max_age_days=settings.password_max_age_days,
            issuer=settings.base_url,
            audience=settings.base_url,
        ),
        gate=SecondFactorGate(adapters.tickets, settings.require_mfa_for, recent_proof(settings)),
    )
