"""Rules on addresses and passwords, and on accounts that may sign in."""

import lzma
import string
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.errors import AccountDisabled, EmailNotConfirmed
from domain.identity import passwords
from domain.identity.passwords import is_common, password_errors
from domain.identity.users import (
    TYPED_LENGTH,
    User,
    days_until_expiration,
    email_key,
    ensure_may_sign_in,
    is_address,
    is_same_address,
    mailbox,
    must_change_password,
    normal_password,
)

COMMON = Path(passwords.__file__).with_name("common-passwords.txt.xz")
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
USER = User(
    id=UUID(int=1),
    email="ada@example.com",
    email_key="ada@example.com",
    full_name="Ada Lovelace",
    email_confirmed=True,
    password_set_at=NOW,
    created_at=NOW,
    updated_at=NOW,
)


@pytest.mark.promise(
    "identity, passwords: Addresses compare without case, trimmed, NFC, the domain as IDNA; mail goes to the stored one"
)
@pytest.mark.parametrize(
    ("address", "other"),
    [
        ("ada@example.com", "ADA@Example.COM"),
        ("ada@example.com", "  ada@example.com\t"),
        ("andré@example.com", "andre\u0301@example.com"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("ada@BÜCHER.example", "ada@bücher.example"),
        ("ada@ｅｘａｍｐｌｅ。com", "ada@example.com"),
        ("ada@straße.example", "ADA@xn--strae-oqa.example"),
    ],
)
def test_addresses_that_are_the_same(address: str, other: str) -> None:
    assert email_key(address) == email_key(other) is not None


def test_addresses_that_differ() -> None:
    keys = {email_key(text) for text in ("ada@example.com", "ada+x@example.com", "a.da@example.com", "ada@example.org")}
    assert len(keys) == 4


@pytest.mark.promise("security, impersonation: an address that only folds to somebody's is another one, or refused")
@pytest.mark.parametrize(
    ("address", "other"),
    [
        ("ceo@straße.example", "ceo@strasse.example"),
        ("ceo@faß.example", "ceo@fass.example"),
        ("ceo@βόλος.example", "ceo@βόλοσ.example"),
    ],
)
def test_domains_that_only_fold_to_each_other_differ(address: str, other: str) -> None:
    assert email_key(address) != email_key(other)
    assert None not in (email_key(address), email_key(other))


@pytest.mark.promise("security, impersonation: an address that only folds to somebody's is another one, or refused")
@pytest.mark.parametrize("local", ["straße", "ſam", "ﬁnn", "ada²", "ａｄａ", "νίκος", "ΝΊΚΟΣ", "ﬀ", "ª"])
def test_a_local_part_that_folds_to_another_is_refused(local: str) -> None:
    assert email_key(f"{local}@example.com") is None
    assert is_address(f"{local}@example.com")


@pytest.mark.promise(
    "security, impersonation: a provider's address opens an account only when it is identical but for ASCII case"
)
def test_addresses_are_the_same_but_for_ascii_case() -> None:
    assert is_same_address(" Ada@Example.com", "ada@EXAMPLE.com ")
    for other in ("adà@example.com", "ada@example.org", "ADA@exampIe.com"):
        assert not is_same_address("ada@example.com", other)
    assert not is_same_address("ADÀ@example.com", "adà@example.com")
    assert not is_same_address("ceo@straße.example", "ceo@strasse.example")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "@",
        "ada",
        "ada@",
        "@example.com",
        "ada lovelace@example.com",
        "ada@exam ple.com",
        "ada@example.com\x00",
        "a\nb@example.com",
        "ada@.example.com",
        "ada@example..com",
        "x" * 250 + "@example.com",
        "a" + "\u0301" * 7_800 + "@example.com",
        "ada@" + "ü" * 64 + ".example",
        "ada@example" + "。ü" * 130,
        "a\u200bda@example.com",
        "ada@example.com,eve@example.org",
        "ada,eve@example.org",
        "<ada@example.com",
        '"ada"@example.com',
        "ada;eve@example.com",
    ],
)
def test_invalid_email_addresses_have_no_key(text: str) -> None:
    assert email_key(text) is None


@given(st.text(max_size=40))
def test_a_key_is_its_own_key(text: str) -> None:
    for address in (text, f"{text}@example.com", f"ada@{text}"):
        key = email_key(address)
        assert key is None or email_key(key) == key


def sentences(password: str) -> list[str]:
    words = ("Tenantry", "Acme Tools", "Acme", "acme-tools")
    errors = password_errors(
        password, email="ada@example.com", full_name="Ada Lovelace", field="newPassword", words=words
    )
    assert all(error.field == "newPassword" for error in errors)
    return [error.message for error in errors]


UNLISTED = ["letme-out12", "horse-letmein12", "abc-1234q"]


@pytest.mark.promise(
    "identity, passwords: 8 to 128 characters after NFKC, none of the common ones, none made of the account"
)
@pytest.mark.parametrize(
    "password",
    ["correct horse", "     xyz", "x1y2z3w4", "пароль-мой", "🐎🐴🦄🐑" * 2, "abcd" * 32, "19870102", *UNLISTED],
)
def test_passwords_that_are_taken(password: str) -> None:
    assert sentences(password) == []


@pytest.mark.promise("identity, fields: Register: at least 8 characters; id, email, fullName, createdAt")
@pytest.mark.promise(
    "identity, passwords: 8 to 128 characters after NFKC, none of the common ones, none made of the account"
)
@pytest.mark.promise(
    "security, secrets: Common passwords are refused: the list is exact, and refuses nothing beside it"
)
@pytest.mark.promise("security, secrets: a new password is not made of the account, the service or a tenant")
@pytest.mark.parametrize(
    ("password", "reason"),
    [
        ("", "8 to 128"),
        ("1234567", "8 to 128"),
        ("x" * 129, "8 to 128"),
        ("ﬀ" * 65, "8 to 128"),
        ("password", "common"),
        ("PassWord1", "common"),
        ("１２３４５６７８", "common"),
        ("trustno1", "common"),
        ("Liverpool1", "common"),
        ("qwerty123456", "common"),
        ("letmein12", "common"),
        ("LetMeIn2026!", "common"),
        ("welcome#1", "common"),
        ("monkey---", "common"),
        (" " * 8, "different characters"),
        ("x" * 12, "different characters"),
        ("🐎" * 8, "different characters"),
        ("aaaaaaab", "different characters"),
        ("abababab", "different characters"),
        ("19900101", "different characters"),
        ("aAbBaAbB", "different characters"),
        ("xyz" * 40, "different characters"),
        ("tenantry", "name of the service"),
        ("Tenantry-2026", "name of the service"),
        ("acme2026!", "of a tenant"),
        ("acmetools", "of a tenant"),
        ("ada@example.com", "made of"),
        ("ADA@EXAMPLE.COM", "made of"),
        ("Ada Lovelace", "made of"),
        ("lovelace", "made of"),
        ("Lovelace123!", "made of"),
        ("adalovelace1", "made of"),
    ],
)
def test_passwords_that_are_refused(password: str, reason: str) -> None:
    (sentence,) = sentences(password)
    assert reason in sentence


@pytest.mark.promise(
    "security, secrets: Common passwords are refused: the list is exact, and refuses nothing beside it"
)
def test_a_password_outside_the_list_is_not_counted_as_a_common_one() -> None:
    """The list is exact: a part of a line is none of it, and neither are two lines."""
    listed = lzma.decompress(COMMON.read_bytes()).decode().strip("\n").split("\n")
    assert len(listed) == 21_657
    assert listed == sorted(set(listed))
    assert {len(password) >= 8 for password in listed} == {True}
    assert all(is_common(password.upper()) for password in listed[::100])
    random = Random(7)
    others = ["".join(random.choices(string.ascii_lowercase + string.digits, k=8)) for _ in range(2_000)]
    assert [password for password in others if is_common(password)] == [
        password for password in others if password in listed
    ]
    assert not is_common(listed[0][:-1] + "~")
    assert not is_common(listed[5][1:] + "~~~~~~~~a")


@pytest.mark.promise(
    "identity, passwords: 8 to 128 characters after NFKC, none of the common ones, none made of the account"
)
def test_the_same_characters_typed_elsewhere_are_the_same_password() -> None:
    assert normal_password("pa\u0308sswort") == normal_password("pässwort")
    assert normal_password("Ａ") == "A"


def test_accounts_that_may_sign_in() -> None:
    ensure_may_sign_in(USER, confirmation_required=True)
    ensure_may_sign_in(replace(USER, email_confirmed=False), confirmation_required=False)
    with pytest.raises(EmailNotConfirmed):
        ensure_may_sign_in(replace(USER, email_confirmed=False), confirmation_required=True)
    with pytest.raises(AccountDisabled):
        ensure_may_sign_in(replace(USER, is_active=False, email_confirmed=False), confirmation_required=True)


@pytest.mark.parametrize(
    ("max_age", "age", "left"), [(0, 999, None), (90, 0, 90), (90, 89, 1), (90, 90, 0), (90, 500, 0)]
)
def test_a_password_ages_by_whole_days(max_age: int, age: int, left: int | None) -> None:
    now = NOW + timedelta(days=age)
    assert days_until_expiration(USER, max_age, now) == left
    assert must_change_password(USER, max_age, now) is (left == 0)


def test_on_its_last_day_a_password_may_still_be_used() -> None:
    now = NOW + timedelta(days=89, hours=12)
    assert not must_change_password(USER, 90, now)
    assert must_change_password(USER, 90, NOW + timedelta(days=90))


def test_an_administrators_password_must_be_changed() -> None:
    assert must_change_password(replace(USER, must_change_password=True), 0, NOW)


def test_an_account_without_a_password_has_none_to_expire() -> None:
    assert days_until_expiration(replace(USER, password_set_at=None), 90, NOW) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" Ada.L@Straße.example ", ("Ada.L", "xn--strae-oqa.example")),
        ("ada@example.com", ("ada", "example.com")),
        ("no address", None),
    ],
)
def test_mail_is_addressed_to_the_written_local_part_at_the_ascii_domain(
    text: str, expected: tuple[str, str] | None
) -> None:
    assert mailbox(text) == expected


@pytest.mark.parametrize("text", ["a" + "\u0301" * 8_000, "\ufdfa" * 2_000, "x" * (TYPED_LENGTH + 1)])
def test_a_text_that_is_too_long_for_a_password_is_not_normalised(text: str) -> None:
    """A normalisation takes time that grows with the square of the number of combining marks."""
    assert normal_password(text) is text
    assert password_errors(text, email="ada@example.com", full_name="Ada", field="password", words=()) != ()
