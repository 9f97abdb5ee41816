"""Keys of service accounts: their form and checksum, the states of a key, and where it may be used from."""

from datetime import timedelta
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from domain.errors import TokenExpired, TokenInvalid, Unauthorized
from domain.identity.service_accounts import (
    BASE62,
    KeyState,
    checksum,
    compose_key,
    is_key,
    is_within,
    key_digest,
    looks_like_key,
    read_networks,
)
from domain.scope import allows, meet
from tests.builders import NOW, api_key, new_id, role, service_account

SECRETS = st.text(BASE62, min_size=32, max_size=32)
ACTIONS = st.sampled_from(["*", "read", "update"])
NAMES = st.one_of(st.just("*"), st.tuples(ACTIONS, st.sampled_from(["*", "users", "products"])).map(":".join))
TICK = timedelta.resolution


@pytest.mark.promise(
    "keys, impersonation: a narrow key allows what both its account and it allow, for every permission"
)
@given(st.lists(NAMES, max_size=4), st.lists(NAMES, max_size=4), NAMES)
def test_the_meet_of_account_and_key_permissions_allows_what_both_allow(
    first: list[str], second: list[str], asked: str
) -> None:
    assert allows(meet(first, second), asked) == (allows(first, asked) and allows(second, asked))


def test_a_wildcard_meets_the_narrower_name() -> None:
    assert meet(["*:users"], ["read:*"]) == ("read:users",)
    assert meet(["*"], ["read:users", "update:users"]) == ("read:users", "update:users")
    assert meet(["read:users"], ["update:users", "read:roles"]) == ()


@given(SECRETS)
def test_a_key_ends_with_the_base62_crc_of_its_beginning(secret: str) -> None:
    text = compose_key("tnt", secret)
    assert text.startswith(f"tnt_{secret}")
    assert len(text) == 42
    number = 0
    for char in text[-6:]:
        number = number * 62 + BASE62.index(char)
    assert number == crc32(f"tnt_{secret}".encode())
    assert is_key(text)
    assert looks_like_key(text)


def test_the_checksum_is_padded_with_zeros() -> None:
    # CRC-32 of the empty text is 0; of "abc" it is 0x352441C2, as every implementation says.
    assert checksum("") == "000000"
    assert checksum("abc") == "0yKviM"


@given(SECRETS, st.integers(0, 41), st.sampled_from(BASE62))
def test_a_key_with_another_character_is_none(secret: str, place: int, char: str) -> None:
    text = compose_key("tnt", secret)
    mutated = text[:place] + char + text[place + 1 :]
    assert is_key(mutated) == (mutated == text)


@pytest.mark.promise("keys, guessing: a forged checksum, a long text, NUL and letters beyond ASCII cost no look-up")
@pytest.mark.parametrize(
    "text", ["", "tnt_", "tnt_" + "A" * 38, "TNT_" + "A" * 38, "tnt_" + "é" * 38, "tnt_" + "A" * 1_000_000, "\0" * 42]
)
def test_random_text_is_not_accepted_as_an_api_key(text: str) -> None:
    assert not is_key(text)


def test_a_token_is_never_taken_for_a_key() -> None:
    assert not looks_like_key("eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl_")


def test_the_stored_form_is_a_digest_of_32_bytes() -> None:
    assert len(key_digest("tnt_x")) == 32
    assert key_digest("tnt_x") != key_digest("tnt_y")


def state(**given: Any) -> KeyState:
    account = service_account(new_id(), roles=(role(None, permissions=("*:products", "read:users")),))
    values: dict[str, Any] = {
        "key": api_key(account),
        "account": account,
        "tenant_is_active": True,
        "token_versions": {},
    }
    return KeyState(**{**values, **given})


@pytest.mark.promise("keys, revocation of keys: an overlap and an expiry are exact to the tick")
def test_a_key_lives_until_the_tick_of_its_end() -> None:
    living = state()
    living.ensure_lives(NOW)
    rotated = state(key=replace(living.key, ended_at=NOW))
    expired = state(key=replace(living.key, expires_at=NOW))
    for ending in (rotated, expired):
        ending.ensure_lives(NOW - TICK)
    with pytest.raises(TokenInvalid):
        rotated.ensure_lives(NOW)
    with pytest.raises(TokenExpired):
        expired.ensure_lives(NOW)


@pytest.mark.promise(
    "keys, guessing: Unknown, ended and wrong keys get the same answer; nothing is compared but a digest"
)
def test_every_invalid_key_gets_the_same_error() -> None:
    living = state()
    ends = (
        state(key=replace(living.key, ended_at=NOW, expires_at=NOW)),
        state(account=replace(living.account, is_active=False)),
        state(tenant_is_active=False),
    )
    told = set()
    for ended in ends:
        with pytest.raises(Unauthorized) as error:
            ended.ensure_lives(NOW)
        told.add((error.value.code, error.value.message))
    assert told == {("TOKEN_INVALID", TokenInvalid.sentence)}


def test_a_key_has_the_permissions_common_to_its_account_and_itself() -> None:
    whole = state()
    assert whole.permissions == ("*:products", "read:users")
    narrow = state(key=replace(whole.key, permissions=("read:*", "delete:roles")))
    assert narrow.permissions == ("read:products", "read:users")


def test_a_token_of_the_key_carries_the_versions_of_all_that_may_end_it() -> None:
    known = state()
    account = known.account
    issued = state(account=account, key=known.key, token_versions={f"user:{account.id}": 3}).issued
    assert issued == {
        f"user:{account.id}": 3,
        f"session:{known.key.id}": 0,
        f"grants:{account.id}": 0,
        f"tenant:{account.tenant_id}": 0,
        f"role:{account.roles[0].id}": 0,
    }


@pytest.mark.parametrize(
    ("networks", "address", "may"),
    [
        (None, "198.51.100.1", True),
        (("10.0.0.0/8",), "10.1.2.3", True),
        (("10.0.0.0/8",), "11.1.2.3", False),
        (("2001:db8::/32",), "2001:db8:1::1", True),
        (("10.0.0.0/8",), "2001:db8::1", False),
        (("10.0.0.0/8",), "unknown", False),
    ],
)
def test_a_key_is_used_from_its_networks(networks: tuple[str, ...] | None, address: str, may: bool) -> None:
    assert is_within(read_networks(networks), address) is may
