"""What a listing asks for, done to values in a list."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from application.ports.identity.listing import Listing

T = TypeVar("T")


def page_of(found: Sequence[T], listing: Listing, listed: Callable[[T], Any]) -> list[T]:
    """Nulls count as the largest; ties are broken by id, upwards in either direction."""

    def place(one: T) -> tuple[bool, Any]:
        value = getattr(listed(one), listing.sort_by)
        return (value is None, 0 if value is None else value)

    by_id = sorted(found, key=lambda one: listed(one).id)
    ordered = sorted(by_id, key=place, reverse=listing.descending)
    start = (listing.page - 1) * listing.page_size
    return ordered[start : start + listing.page_size]


def has_words(search: str | None, texts: Sequence[str | None]) -> bool:
    """Whether each word occurs, without case, in one of the texts."""
    lowered = [text.lower() for text in texts if text is not None]
    return all(any(word in text for text in lowered) for word in (search or "").lower().split())
