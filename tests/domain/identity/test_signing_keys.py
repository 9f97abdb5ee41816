"""Rotation of signing keys, with overlap."""

from datetime import UTC, datetime, timedelta

import pytest

from domain.identity.signing_keys import SigningKey, living_keys, signing_key
from domain.identity.tokens import LEEWAY

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)


def key(kid: str, active_from: datetime) -> SigningKey:
    return SigningKey(kid=kid, public="{}", sealed="", active_from=active_from)


OLD, CURRENT, COMING = key("old", NOW - 9 * HOUR), key("current", NOW), key("coming", NOW + HOUR)
KEYS = [COMING, OLD, CURRENT]


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (NOW - 10 * HOUR, OLD),
        (NOW - SECOND, OLD),
        (NOW, CURRENT),
        (NOW + HOUR - SECOND, CURRENT),
        (NOW + HOUR, COMING),
    ],
)
def test_the_newest_active_key_signs(now: datetime, expected: SigningKey) -> None:
    assert signing_key(KEYS, now) == expected


@pytest.mark.promise("identity, tokens and keys: Keys rotate with overlap while requests run")
@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (NOW - SECOND, [OLD, CURRENT, COMING]),
        (NOW + HOUR + LEEWAY - SECOND, [OLD, CURRENT, COMING]),
        (NOW + HOUR + LEEWAY, [CURRENT, COMING]),
        (NOW + 2 * HOUR + LEEWAY, [COMING]),
        (NOW + 999 * HOUR, [COMING]),
    ],
)
def test_a_key_lives_as_long_as_its_last_token(now: datetime, expected: list[SigningKey]) -> None:
    assert living_keys(KEYS, now, HOUR) == expected


def test_the_signing_key_always_lives() -> None:
    for minutes in range(-900, 900, 7):
        now = NOW + timedelta(minutes=minutes)
        assert signing_key(KEYS, now) in living_keys(KEYS, now, HOUR)
