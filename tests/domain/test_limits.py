"""The specification's tables of rate limits, and verdicts on counted requests.

The bound and the end of entries in a cache.
"""

from datetime import timedelta

import pytest

from domain.bounded_cache import BoundedCache
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


def test_an_allowed_request_gets_the_remaining_count() -> None:
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


def filled() -> BoundedCache[str, int]:
    """Three entries of size 2, which fill the cache; their times end at 1, 2 and 3."""
    cache: BoundedCache[str, int] = BoundedCache(most=6)
    for number, name in enumerate("abc", 1):
        cache.put(name, number, 2, float(number))
    return cache


def kept(cache: BoundedCache[str, int]) -> list[str]:
    return [name for name in "abcd" if name in cache]


def test_a_full_cache_retains_every_entry_that_fits() -> None:
    assert kept(filled()) == ["a", "b", "c"]


def test_the_entries_that_were_stored_first_make_room() -> None:
    cache = filled()
    cache.put("d", 4, 3, 4.0)
    assert kept(cache) == ["c", "d"]


def test_an_entry_that_is_stored_again_counts_once_and_is_the_youngest() -> None:
    cache = filled()
    cache.put("a", 5, 2, 4.0)
    assert (kept(cache), cache.get("a")) == (["a", "b", "c"], 5)
    cache.put("d", 4, 2, 5.0)
    assert kept(cache) == ["a", "c", "d"]


def test_an_entry_larger_than_the_cache_is_not_stored() -> None:
    cache = filled()
    cache.put("d", 4, 7, 4.0)
    assert len(cache) == 0


def test_an_entry_ends_at_its_time() -> None:
    cache = filled()
    cache.drop_ended(2.0)
    assert kept(cache) == ["c"]


def test_a_dropped_entry_frees_its_space() -> None:
    cache = filled()
    cache.drop("b")
    cache.put("d", 4, 2, 4.0)
    assert kept(cache) == ["a", "c", "d"]


def test_a_cleared_cache_is_like_a_new_one() -> None:
    cache: BoundedCache[str, int] = BoundedCache(most=6)
    cache.put("a", 1, 6, 9.0)
    cache.clear()
    assert len(cache) == 0
    cache.put("b", 2, 3, 1.0)
    cache.put("c", 3, 3, 9.0)
    assert kept(cache) == ["b", "c"]
    cache.drop_ended(5.0)
    assert kept(cache) == ["c"]
