"""The bound and the end of entries in a cache."""

from domain.bounded_cache import BoundedCache


def filled() -> BoundedCache[str, int]:
    """Three entries of size 2, which fill the cache; their times end at 1, 2 and 3."""
    cache: BoundedCache[str, int] = BoundedCache(most=6)
    for number, name in enumerate("abc", 1):
        cache.put(name, number, 2, float(number))
    return cache


def kept(cache: BoundedCache[str, int]) -> list[str]:
    return [name for name in "abcd" if name in cache]


def test_a_full_cache_keeps_all_that_fits() -> None:
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


def test_what_was_dropped_leaves_room() -> None:
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
