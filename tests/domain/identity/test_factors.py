"""The gate's truth table: what a login still has to show.

One-time passwords: held against the vectors of RFC 6238 and another hand's implementation.
"""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.identity.factors import Demand, Step, changed_security, combined, demand_of, further, step_needed
from domain.identity.typed_codes import (
    CODE_BYTES,
    base32,
    code_at,
    matching_step,
    otpauth_uri,
    recovery_digest,
    step_at,
    typed_code,
)
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


def test_a_further_proof_after_an_unknown_one_counts_as_multi_factor() -> None:
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


def test_requiring_mfa_again_restarts_the_grace_period() -> None:
    asked = changed_security(TenantSecurity(), TenantSecurity(require_mfa=True), NOW)
    assert asked.required_since == NOW
    later = NOW + timedelta(days=1)
    kept = changed_security(asked, TenantSecurity(require_mfa=True, mfa_grace_days=3), later)
    assert (kept.required_since, kept.mfa_grace_days) == (NOW, 3)
    ended = changed_security(kept, TenantSecurity(mfa_grace_days=3), later)
    assert ended.required_since is None
    assert changed_security(ended, TenantSecurity(require_mfa=True), later).required_since == later


SECRET = b"12345678901234567890"
NOW_OF_OTP = datetime(2026, 11, 20, 12, 0, 10, tzinfo=UTC)


@pytest.mark.promise("second factors, behaviour: TOTP as RFC 6238 and other implementations have it")
@pytest.mark.parametrize(
    ("second", "code"),
    [
        (59, "287082"),
        (1_111_111_109, "081804"),
        (1_111_111_111, "050471"),
        (1_234_567_890, "005924"),
        (2_000_000_000, "279037"),
        (20_000_000_000, "353130"),
    ],
)
def test_the_vectors_of_the_rfc(second: int, code: str) -> None:
    """RFC 6238, appendix B, SHA-1: the last six of its eight digits."""
    assert code_at(SECRET, second // 30) == code


@pytest.mark.promise("second factors, behaviour: TOTP as RFC 6238 and other implementations have it")
@given(st.binary(min_size=20, max_size=20), st.integers(0, 2**37))
def test_codes_are_those_of_another_implementation(secret: bytes, second: int) -> None:
    assert code_at(secret, second // 30) == pyotp.TOTP(base32(secret)).at(second)


@pytest.mark.promise("second factors, ASVS 5.0: 6.5.5: codes of an app live a defined time")
@pytest.mark.parametrize(("off", "found"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)])
def test_a_clock_may_be_off_by_one_step(off: int, found: bool) -> None:
    step = step_at(NOW_OF_OTP) + off
    assert matching_step(SECRET, code_at(SECRET, step), NOW_OF_OTP) == (step if found else None)


@pytest.mark.parametrize("text", ["", "12345", "1234567", "12345a", "١٢٣٤٥٦", "-12345", "1.2345", "\x00" * 6])
def test_a_text_that_is_not_a_code_matches_no_time_step(text: str) -> None:
    assert matching_step(SECRET, text, NOW_OF_OTP) is None


def test_blanks_between_digits_are_taken() -> None:
    code = code_at(SECRET, step_at(NOW_OF_OTP))
    assert matching_step(SECRET, f" {code[:3]} {code[3:]}", NOW_OF_OTP) == step_at(NOW_OF_OTP)


def test_the_address_is_read_by_apps_as_it_is_meant() -> None:
    uri = otpauth_uri(SECRET, "ada+x@example.com", "Shop: the best")
    read = pyotp.parse_uri(uri)
    assert isinstance(read, pyotp.TOTP)
    assert (read.secret, read.name, read.issuer) == (base32(SECRET), "ada+x@example.com", "Shop  the best")
    assert parse_qs(urlsplit(uri).query)["period"] == ["30"]
    assert read.at(NOW_OF_OTP + timedelta(seconds=30)) == code_at(SECRET, step_at(NOW_OF_OTP) + 1)


@pytest.mark.promise("second factors, attacks: idenplane#398: recovery codes that race, or can be guessed")
@pytest.mark.promise(
    "second factors, ASVS 5.0: 6.5.2, 6.5.4: recovery codes have 20 bits of entropy or more, and are stored as digests"
)
@given(st.binary(min_size=CODE_BYTES, max_size=CODE_BYTES), st.binary(min_size=CODE_BYTES, max_size=CODE_BYTES))
def test_a_recovery_code_has_all_its_bits(random: bytes, other: bytes) -> None:
    code = typed_code(random)
    assert [len(part) for part in code.split("-")] == [4, 4, 4, 4]
    assert (code == typed_code(other)) == (random == other)
    digest = recovery_digest(code)
    assert digest is not None
    assert len(digest) == 32


def test_a_recovery_code_may_be_typed_with_similar_letters_and_spaces() -> None:
    code = typed_code(bytes(CODE_BYTES - 1) + b"\x01")
    assert code == "0000-0000-0000-0001"
    for typed in ("0000000000000001", " 0000 0000 0000 000l ", "OOOO-oooo-0000-000I"):
        assert recovery_digest(typed) == recovery_digest(code)


@pytest.mark.parametrize("text", ["", "123456", "0000-0000-0000-000", "0000-0000-0000-000U", "0000-0000-0000-00011"])
def test_a_text_that_is_not_a_recovery_code_has_no_digest(text: str) -> None:
    assert recovery_digest(text) is None
