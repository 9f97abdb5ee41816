"""One-time passwords: held against the vectors of RFC 6238 and another hand's implementation."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.identity.factor_codes import (
    CODE_BYTES,
    base32,
    code_at,
    matching_step,
    otpauth_uri,
    recovery_code,
    recovery_digest,
    step_at,
)

SECRET = b"12345678901234567890"
NOW = datetime(2026, 11, 20, 12, 0, 10, tzinfo=UTC)


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
    step = step_at(NOW) + off
    assert matching_step(SECRET, code_at(SECRET, step), NOW) == (step if found else None)


@pytest.mark.parametrize("text", ["", "12345", "1234567", "12345a", "١٢٣٤٥٦", "-12345", "1.2345", "\x00" * 6])
def test_what_is_no_code_matches_nothing(text: str) -> None:
    assert matching_step(SECRET, text, NOW) is None


def test_blanks_between_digits_are_taken() -> None:
    code = code_at(SECRET, step_at(NOW))
    assert matching_step(SECRET, f" {code[:3]} {code[3:]}", NOW) == step_at(NOW)


def test_the_address_is_read_by_apps_as_it_is_meant() -> None:
    uri = otpauth_uri(SECRET, "ada+x@example.com", "Shop: the best")
    read = pyotp.parse_uri(uri)
    assert isinstance(read, pyotp.TOTP)
    assert (read.secret, read.name, read.issuer) == (base32(SECRET), "ada+x@example.com", "Shop  the best")
    assert parse_qs(urlsplit(uri).query)["period"] == ["30"]
    assert read.at(NOW + timedelta(seconds=30)) == code_at(SECRET, step_at(NOW) + 1)


@pytest.mark.promise("second factors, attacks: idenplane#398: recovery codes that race, or can be guessed")
@pytest.mark.promise(
    "second factors, ASVS 5.0: 6.5.2, 6.5.4: recovery codes have 20 bits of entropy or more, and are stored as digests"
)
@given(st.binary(min_size=CODE_BYTES, max_size=CODE_BYTES), st.binary(min_size=CODE_BYTES, max_size=CODE_BYTES))
def test_a_recovery_code_has_all_its_bits(random: bytes, other: bytes) -> None:
    code = recovery_code(random)
    assert [len(part) for part in code.split("-")] == [4, 4, 4, 4]
    assert (code == recovery_code(other)) == (random == other)
    digest = recovery_digest(code)
    assert digest is not None
    assert len(digest) == 32


def test_a_recovery_code_may_be_misread_and_typed_as_people_do() -> None:
    code = recovery_code(bytes(CODE_BYTES - 1) + b"\x01")
    assert code == "0000-0000-0000-0001"
    for typed in ("0000000000000001", " 0000 0000 0000 000l ", "OOOO-oooo-0000-000I"):
        assert recovery_digest(typed) == recovery_digest(code)


@pytest.mark.parametrize("text", ["", "123456", "0000-0000-0000-000", "0000-0000-0000-000U", "0000-0000-0000-00011"])
def test_what_is_no_recovery_code_has_no_digest(text: str) -> None:
    assert recovery_digest(text) is None
