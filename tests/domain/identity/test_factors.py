"""The gate's truth table: what a login still has to show."""

from datetime import timedelta

import pytest

from domain.identity.factors import Demand, Step, changed_security, combined, demand_of, further, step_needed
from domain.identity.users import Method, OwnFactors, TenantSecurity
from tests.builders import NOW

NONE = OwnFactors()
APP = OwnFactors(totp=True, recovery=True)
KEY = OwnFactors(passkey=True)
BOTH = OwnFactors(totp=True, passkey=True, recovery=True)
LATER, EARLIER = NOW + timedelta.resolution, NOW

FREE = Demand()
REQUIRED = Demand(required=True)
GRACE, PAST = Demand(required=True, deadline=LATER), Demand(required=True, deadline=EARLIER)
KEYS: tuple[Method, ...] = ("passkey",)
PASSKEYS = Demand(required=True, methods=KEYS)
CODES = Demand(required=True, methods=("passkey", "recovery"))

PWD, SOCIAL = ("pwd",), ("social",)
OTP, REC = ("pwd", "otp", "mfa"), ("pwd", "rec", "mfa")
VERIFIED, SECURITY_KEY = ("hwk", "user", "mfa"), ("pwd", "hwk", "mfa")
SSO = ("sso", "mfa")

IN = Step(outcome="in")


def challenge(*methods: Method) -> Step:
    return Step(outcome="challenge", methods=methods)


def enrolment(*methods: Method) -> Step:
    return Step(outcome="enrolment", methods=methods)


@pytest.mark.promise("second factors, behaviour: what is asked of whom: the truth table")
@pytest.mark.parametrize(
    ("own", "shown", "demand", "step"),
    [
        # no factor in force
        (NONE, PWD, FREE, IN),
        (NONE, SOCIAL, FREE, IN),
        (NONE, PWD, GRACE, Step(outcome="in", deadline=LATER)),
        (NONE, PWD, PAST, enrolment("passkey", "totp")),
        (NONE, PWD, REQUIRED, enrolment("passkey", "totp")),
        (NONE, SOCIAL, PASSKEYS, enrolment("passkey")),
        (OwnFactors(recovery=True), PWD, REQUIRED, enrolment("passkey", "totp")),
        (NONE, SSO, REQUIRED, IN),
        (NONE, SSO, PASSKEYS, enrolment("passkey")),
        # some, and one kind shown
        (APP, PWD, FREE, challenge("totp", "recovery")),
        (APP, SOCIAL, FREE, challenge("totp", "recovery")),
        (APP, PWD, GRACE, challenge("totp", "recovery")),
        (KEY, PWD, REQUIRED, challenge("passkey")),
        (BOTH, PWD, REQUIRED, challenge("passkey", "totp", "recovery")),
        (BOTH, PWD, PASSKEYS, challenge("passkey")),
        (BOTH, PWD, CODES, challenge("passkey", "recovery")),
        (APP, PWD, PASSKEYS, challenge("totp", "recovery")),
        (KEY, ("hwk",), FREE, challenge("passkey")),
        # some, and two kinds shown
        (APP, OTP, FREE, IN),
        (APP, OTP, REQUIRED, IN),
        (APP, REC, REQUIRED, IN),
        (KEY, VERIFIED, FREE, IN),
        (KEY, VERIFIED, PASSKEYS, IN),
        (KEY, SECURITY_KEY, PASSKEYS, IN),
        (APP, SSO, REQUIRED, IN),
        (BOTH, OTP, PASSKEYS, challenge("passkey")),
        (BOTH, REC, PASSKEYS, challenge("passkey")),
        (BOTH, REC, CODES, IN),
        # some, none of them wanted, and two kinds shown
        (APP, OTP, PASSKEYS, enrolment("passkey")),
        (APP, REC, PASSKEYS, enrolment("passkey")),
    ],
)
def test_the_truth_table(own: OwnFactors, shown: tuple[str, ...], demand: Demand, step: Step) -> None:
    assert step_needed(own, demand, shown, NOW) == step


@pytest.mark.parametrize(
    ("shown", "added", "together"),
    [
        ((), ("pwd",), ("pwd",)),
        (("pwd",), ("otp",), ("pwd", "otp", "mfa")),
        (("social",), ("rec",), ("social", "rec", "mfa")),
        (("pwd",), ("hwk",), ("pwd", "hwk", "mfa")),
        ((), ("hwk",), ("hwk",)),
        ((), ("otp",), ("otp",)),
        ((), ("swk", "user"), ("swk", "user", "mfa")),
        (("pwd",), ("social",), ("pwd", "social")),
        (("pwd", "otp", "mfa"), ("pwd",), ("pwd", "otp", "mfa")),
        (("otp",), ("pwd",), ("otp", "pwd", "mfa")),
    ],
)
def test_two_kinds_together_are_more_than_each(
    shown: tuple[str, ...], added: tuple[str, ...], together: tuple[str, ...]
) -> None:
    assert combined(shown, added) == together


def test_what_was_proved_in_an_unknown_way_was_proved_and_a_factor_comes_to_it() -> None:
    assert further((), ("otp",)) == ("otp", "mfa")
    assert further((), ("pwd",)) == ("pwd",)
    assert further(("pwd",), ("otp",)) == ("pwd", "otp", "mfa")
    assert further(("otp",), ("hwk",)) == combined(("otp",), ("hwk",)) == ("otp", "hwk")


def test_grace_begins_when_the_tenant_asks_or_somebody_joins() -> None:
    asked = TenantSecurity(require_mfa=True, mfa_grace_days=2, required_since=NOW)
    early, late = NOW - timedelta(days=9), NOW + timedelta(days=9)
    assert demand_of(asked, early, service_requires=False).deadline == NOW + timedelta(days=2)
    assert demand_of(asked, late, service_requires=False).deadline == late + timedelta(days=2)
    assert demand_of(TenantSecurity(require_mfa=True), late, service_requires=False).deadline is None
    assert demand_of(asked, late, service_requires=True) == Demand(required=True)
    assert demand_of(None, late, service_requires=True) == Demand(required=True)
    assert demand_of(TenantSecurity(mfa_methods=KEYS), late, service_requires=False) == Demand()


def test_asking_anew_begins_the_grace_anew_and_asking_on_does_not() -> None:
    asked = changed_security(TenantSecurity(), TenantSecurity(require_mfa=True), NOW)
    assert asked.required_since == NOW
    later = NOW + timedelta(days=1)
    kept = changed_security(asked, TenantSecurity(require_mfa=True, mfa_grace_days=3), later)
    assert (kept.required_since, kept.mfa_grace_days) == (NOW, 3)
    ended = changed_security(kept, TenantSecurity(mfa_grace_days=3), later)
    assert ended.required_since is None
    assert changed_security(ended, TenantSecurity(require_mfa=True), later).required_since == later
