"""Paging and search over values in a list."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from application.ports.identity.users import Listing

T = TypeVar("T")


def page_of(found: Sequence[T], listing: Listing, listed: Callable[[T], Any]) -> list[T]:
    """Return a page of ``found``; ``listed`` returns the value to sort by. Nulls are the largest."""

    def sort_value(item: T) -> tuple[bool, Any]:
        value = getattr(listed(item), listing.sort_by)
        return (value is None, 0 if value is None else value)

    # PostgreSQL's order: equal values are in ascending order of id in both directions.
    by_id = sorted(found, key=lambda item: listed(item).id)
    ordered = sorted(by_id, key=sort_value, reverse=listing.descending)
    start = (listing.page - 1) * listing.page_size
    return ordered[start : start + listing.page_size]


def has_words(search: str | None, texts: Sequence[str | None]) -> bool:
    """Return whether each word of the search occurs, without case, in one of the texts."""
    lowered = [text.lower() for text in texts if text is not None]
    return all(any(word in text for text in lowered) for word in (search or "").lower().split())
