"""Logins, and everything around their second half, on adapters."""

from dataclasses import dataclass
from datetime import timedelta

from adapters.prometheus.outcomes import CodeCounts, SecondFactorCounts
from application.identity.factors.forms import RelatedOrigins
from application.identity.factors.my_factors import MyFactors
from application.identity.factors.passkey_login import PasskeyLogin
from application.identity.factors.passkeys import Passkeys
from application.identity.factors.proofs import FactorProofs
from application.identity.factors.reauthentication import Reauthentication
from application.identity.factors.registering import FactorRegistration
from application.identity.factors.resets import FactorResets
from application.identity.factors.second_factor import SecondFactor
from application.identity.hosted_login.appearance import Appearances
from application.identity.hosted_login.login_codes import LoginCodes
from application.identity.hosted_login.targets import Targets
from application.identity.joining.domain_joining import DomainJoining
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
from domain.limits import Lockout
from entrypoints.assembly.adapters import Adapters, lifetimes
from entrypoints.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class LoginUseCases:
    """Use cases of logins and of their second half, named as in ``Services``."""

    sign_in: SignIn
    sign_out: SignOut
    renewal: SessionRenewal
    reauthentication: Reauthentication
    second_factor: SecondFactor
    passkey_login: PasskeyLogin
    my_factors: MyFactors
    factor_resets: FactorResets
    related_origins: RelatedOrigins
    targets: Targets
    appearances: Appearances
    login_codes: LoginCodes
    factor_counts: SecondFactorCounts
    code_counts: CodeCounts


def assemble_logins(adapters: Adapters, settings: Settings, joining: DomainJoining) -> LoginUseCases:
    database, clock, ids, tickets = adapters.database, adapters.clock, adapters.ids, adapters.tickets
    secrets, factor_counts, code_counts = adapters.second_factors.secrets, SecondFactorCounts(), CodeCounts()
    sign_in, issuing = sign_in_of(adapters, settings, joining), _issuing(adapters, settings)
    passkeys = Passkeys(database, adapters.second_factors.passkeys, tickets, clock, ids)
    proofs = FactorProofs(database, secrets, passkeys, factor_counts, clock, ids)
    # Passkeys are made, and shown, by the same ceremonies: registration and proofs each know their half.
    registration = FactorRegistration(
        tickets, secrets, passkeys, adapters.second_factors.qr_svg, clock, ids, settings.totp_issuer
    )
    targets = targets_of(adapters, settings)
    sign_out = SignOut(database, adapters.refresh_tokens, adapters.revocations, clock, ids)
    renewal = SessionRenewal(database, issuing, sign_out, clock)
    return LoginUseCases(
        sign_in=sign_in,
        sign_out=sign_out,
        renewal=renewal,
        reauthentication=Reauthentication(database, _authentication(adapters, settings), issuing, proofs, clock),
        second_factor=SecondFactor(database, tickets, proofs, registration, sign_in, renewal, clock),
        passkey_login=PasskeyLogin(database, passkeys, sign_in, factor_counts, clock),
        my_factors=MyFactors(database, adapters.social, registration, issuing.gate, clock, ids),
        factor_resets=FactorResets(database, adapters.revocations, clock, ids),
        # Apps are known by the hash of their key (android:apk-key-hash:…), which browsers have no use for.
        related_origins=RelatedOrigins([name for name in settings.passkey_origins if name.startswith("http")]),
        targets=targets,
        appearances=Appearances(database),
        login_codes=LoginCodes(database, tickets, targets, renewal, sign_out, code_counts, clock),
        factor_counts=factor_counts,
        code_counts=code_counts,
    )


def sign_in_of(adapters: Adapters, settings: Settings, joining: DomainJoining) -> SignIn:
    return SignIn(
        database=adapters.database,
        authentication=_authentication(adapters, settings),
        issuing=_issuing(adapters, settings),
        revocations=adapters.revocations,
        cache=adapters.cache,
        clock=adapters.clock,
        ids=adapters.ids,
        joining=joining,
        locks=KeyedLocks(),
    )


def _issuing(adapters: Adapters, settings: Settings) -> TokenIssuing:
    return TokenIssuing(
        database=adapters.database,
        applications=applications_of(adapters, settings),
        tokens=adapters.tokens,
        refresh_tokens=adapters.refresh_tokens,
        clock=adapters.clock,
        ids=adapters.ids,
        policy=_sign_in_policy(settings),
        gate=SecondFactorGate(adapters.tickets, settings.require_mfa_for, timedelta(minutes=settings.reauth_minutes)),
    )


def targets_of(adapters: Adapters, settings: Settings) -> Targets:
    return Targets(applications_of(adapters, settings))


def applications_of(adapters: Adapters, settings: Settings) -> RegisteredApplications:
    return RegisteredApplications(adapters.database, adapters.registry["applications"], settings.require_registered_app)


def _sign_in_policy(settings: Settings) -> SignInPolicy:
    return SignInPolicy(
        lifetimes=lifetimes(settings),
        confirm_email=settings.confirm_email,
        password_max_age_days=settings.password_max_age_days,
        issuer=settings.base_url,
        audience=settings.base_url,
    )


def _authentication(adapters: Adapters, settings: Settings) -> PasswordAuthentication:
    return PasswordAuthentication(
        adapters.database,
        ConstantTimePasswords(adapters.passwords, adapters.database),
        password_reader(adapters, strict=settings.strict_password_encryption),
        adapters.clock,
        lockout_of(settings),
    )


def password_reader(adapters: Adapters, *, strict: bool) -> PasswordReader:
    return PasswordReader(adapters.database, adapters.encrypted_passwords, adapters.clock, strict)


def lockout_of(settings: Settings) -> Lockout:
    return Lockout(settings.lockout_attempts, timedelta(minutes=settings.lockout_minutes))
