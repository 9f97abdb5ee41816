"""Outcomes of refresh tokens, and the ends of sessions."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from msgspec.structs import replace

from domain.errors import TokenExpired, TokenInvalid
from domain.identity.tokens import (
    Lifetimes,
    RefreshOutcome,
    Session,
    expires_at,
    is_expired,
    refresh_outcome,
    unknown_session,
)

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
LIFETIMES = Lifetimes(
    access=timedelta(minutes=60),
    global_access=timedelta(minutes=2),
    unused=7 * DAY,
    session=30 * DAY,
    selection=timedelta(minutes=10),
    grace=30 * SECOND,
)
SESSION = Session(
    id=UUID(int=1), user_id=UUID(int=2), tenant_id=UUID(int=3), counter=5, created_at=NOW - DAY, rotated_at=NOW
)


@pytest.mark.promise("identity, refresh tokens and sessions: an older one ends the session")
@pytest.mark.parametrize(
    ("counter", "after", "expected"),
    [
        (5, 0 * SECOND, RefreshOutcome.FRESH),
        (5, 7 * DAY - SECOND, RefreshOutcome.FRESH),
        (5, 7 * DAY, RefreshOutcome.EXPIRED),
        (4, 0 * SECOND, RefreshOutcome.REPLAYED),
        (4, 29 * SECOND, RefreshOutcome.REPLAYED),
        (4, 30 * SECOND, RefreshOutcome.STOLEN),
        (3, 0 * SECOND, RefreshOutcome.STOLEN),
        (0, 0 * SECOND, RefreshOutcome.STOLEN),
        (6, 0 * SECOND, RefreshOutcome.DEAD),
        (4, 7 * DAY, RefreshOutcome.EXPIRED),
    ],
)
def test_a_shown_token(counter: int, after: timedelta, expected: RefreshOutcome) -> None:
    assert refresh_outcome(SESSION, counter, NOW + after, LIFETIMES) is expected


@pytest.mark.parametrize("counter", [3, 4, 5, 6])
def test_an_ended_session_refuses_every_refresh_token(counter: int) -> None:
    assert refresh_outcome(replace(SESSION, ended_at=NOW), counter, NOW, LIFETIMES) is RefreshOutcome.DEAD


def test_without_a_grace_a_spent_token_is_always_stolen() -> None:
    assert refresh_outcome(SESSION, 4, NOW, replace(LIFETIMES, grace=0 * SECOND)) is RefreshOutcome.STOLEN


def test_a_session_in_use_ends_with_its_age() -> None:
    used = replace(SESSION, created_at=NOW - 29 * DAY)
    assert expires_at(used, LIFETIMES) == NOW + DAY
    assert not is_expired(used, NOW + DAY - SECOND, LIFETIMES)
    assert is_expired(used, NOW + DAY, LIFETIMES)


def test_a_session_without_a_tenant_is_refreshed_for_minutes_only() -> None:
    waiting = replace(SESSION, tenant_id=None, created_at=NOW)
    assert expires_at(waiting, LIFETIMES) == NOW + timedelta(minutes=10)
    assert refresh_outcome(waiting, 5, NOW + timedelta(minutes=10), LIFETIMES) is RefreshOutcome.EXPIRED


def test_a_session_without_a_row_has_expired_after_the_longest_lifetime() -> None:
    session_id = UUID(int=int(NOW.timestamp() * 1000) << 80)
    end = NOW + LIFETIMES.session
    assert type(unknown_session(session_id, end - SECOND, LIFETIMES)) is TokenInvalid
    assert type(unknown_session(session_id, end, LIFETIMES)) is TokenExpired
