"""The specification's tables of rate limits, and verdicts on counted requests."""

from datetime import timedelta

import pytest

from domain.limits import (
    LOGIN,
    REGISTER,
    RESET,
    CountedHit,
    Limit,
    Verdict,
    endpoint_limit,
    entity_limit,
    tightest,
    verdict_of,
)

MINUTE = timedelta(minutes=1)
NOW = 1_000_000_000_000_000


@pytest.mark.parametrize(
    ("limit", "count"),
    [
        (LOGIN, 10),
        (REGISTER, 5),
        (RESET, 3),
        (endpoint_limit("me"), 100),
        (entity_limit("products", "create"), 100),
        (entity_limit("products", "update"), 100),
        (entity_limit("products", "delete"), 50),
        (entity_limit("products", "page"), 500),
        (entity_limit("products", "read"), 1000),
        (entity_limit("products", "create-batch"), 10),
        (entity_limit("products", "update-batch"), 10),
        (entity_limit("products", "delete-batch"), 10),
        (entity_limit("products", "export"), 5),
        (entity_limit("products", "import"), 5),
        (entity_limit("products", "restore"), 50),
        (entity_limit("products", "patch"), 100),
    ],
)
def test_the_tables(limit: Limit, count: int) -> None:
    assert (limit.count, limit.window) == (count, MINUTE)


def test_entities_and_operations_count_apart() -> None:
    names = {entity_limit(plural, operation).name for plural in ("a", "b") for operation in ("page", "read")}
    assert len(names) == 4


def test_an_allowed_request_is_told_the_remaining_count() -> None:
    counted = CountedHit(True, 3, NOW - 10_000_001)
    assert verdict_of(LOGIN, counted, NOW) == Verdict(True, 10, 7, 1_000_000_050)


def test_an_empty_log_resets_a_window_from_now() -> None:
    assert verdict_of(LOGIN, CountedHit(True, 0, None), NOW + 1).reset == 1_000_000_061


def test_a_refused_caller_waits_until_another_request_fits_at_least_a_second() -> None:
    counted = CountedHit(False, 12, NOW - 59_000_000, NOW - 50_500_000)
    assert verdict_of(LOGIN, counted, NOW) == Verdict(False, 10, 0, 1_000_000_001, 10)
    soon = CountedHit(False, 10, NOW - 59_999_999, NOW - 59_999_999)
    assert verdict_of(LOGIN, soon, NOW).retry_after == 1


def test_a_refusal_is_shown_first_then_the_least_that_is_left() -> None:
    wide, tight = Verdict(True, 100, 50, 0), Verdict(True, 10, 2, 0)
    refused = Verdict(False, 100, 0, 0, 5)
    assert tightest((wide, tight)) == tight
    assert tightest((tight, Verdict(True, 9, 0, 0), refused)) == refused
