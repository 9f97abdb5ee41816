"""The lists of users and tenants: conditions as they were asked for, one page, and the total."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.schema.sql import without_case
from application.ports.identity.listing import Listing


@dataclass
class Conditions:
    """Values travel as parameters; only the names of our own stand in the text."""

    values: list[object] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def value(self, value: object, kind: str) -> str:
        self.values.append(value)
        return f"${len(self.values)}::{kind}"

    def add(self, part: str) -> None:
        self.parts.append(part)

    def search(self, text: str, words: str | None) -> None:
        for word in (words or "").split():
            pattern = self.value(f"%{literally(word)}%", "text")
            self.add(f"{text} LIKE {without_case(pattern)}")

    def __str__(self) -> str:
        return f"WHERE {' AND '.join(self.parts)}" if self.parts else ""


def literally(word: str) -> str:
    """A word in which LIKE finds no wildcard."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def order_by(listing: Listing, columns: Sequence[str]) -> str:
    """Nulls count as the largest; ties are broken by id, upwards in either direction."""
    if listing.sort_by not in columns:
        raise ValueError(f"{listing.sort_by!r} is not a field of what is listed")
    direction = "DESC" if listing.descending else "ASC"
    skipped = (listing.page - 1) * listing.page_size
    return f"ORDER BY {listing.sort_by} {direction}, id LIMIT {listing.page_size:d} OFFSET {skipped:d}"


async def total_of(
    connection: ServiceConnection, table: str, conditions: Conditions, listing: Listing, length: int
) -> int:
    """Counted only when the page does not tell it already."""
    if 0 < length < listing.page_size or (listing.page == 1 and length == 0):
        return (listing.page - 1) * listing.page_size + length
    return int(await connection.fetchval(f"SELECT count(*) FROM {table} {conditions}", *conditions.values))
