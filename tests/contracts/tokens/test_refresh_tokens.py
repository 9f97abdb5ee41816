"""Refresh tokens: sealing is deterministic, and only texts sealed with this key open."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.joserfc import SealedRefreshTokens
from domain.identity.tokens import RefreshToken

SECRET = "a secret key of more than 32 characters"
TOKENS = SealedRefreshTokens(SECRET)
TOKEN = RefreshToken(UUID(int=7), 3)
SEALED = TOKENS.seal(TOKEN)


@pytest.mark.promise("identity, refresh tokens and sessions: one row, a sealed counter, compare-and-swap")
@given(st.uuids(), st.integers(0, 2**63 - 1))
def test_what_was_sealed_opens_to_itself(session_id: UUID, counter: int) -> None:
    token = RefreshToken(session_id, counter)
    assert TOKENS.open(TOKENS.seal(token)) == token


def test_the_same_token_is_the_same_text_in_every_process() -> None:
    assert SealedRefreshTokens(SECRET).seal(TOKEN) == SEALED
    assert TOKENS.seal(RefreshToken(TOKEN.session_id, 4)) != SEALED


def test_another_secret_opens_nothing() -> None:
    assert SealedRefreshTokens(SECRET + "!").open(SEALED) is None


@pytest.mark.parametrize("at", range(len(SEALED)))
def test_no_character_can_be_changed(at: int) -> None:
    for other in "Aq-_":
        changed = SEALED[:at] + other + SEALED[at + 1 :]
        assert changed == SEALED or TOKENS.open(changed) is None


@pytest.mark.promise("identity, refresh tokens and sessions: one row, a sealed counter, compare-and-swap")
@pytest.mark.parametrize(
    "text", ["", "x", SEALED[:-1], SEALED + "A", SEALED + "=", SEALED[:-1] + "\n", " " + SEALED[1:], "ä" * 75, "." * 75]
)
def test_nothing_else_opens(text: str) -> None:
    assert TOKENS.open(text) is None


@given(st.text(max_size=100))
def test_arbitrary_text_is_refused_and_never_breaks(text: str) -> None:
    assert TOKENS.open(text) is None
