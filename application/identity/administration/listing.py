"""Query parameters and pages of the user and tenant lists."""

import math
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Protocol, TypedDict, TypeVar
from uuid import UUID

from application.ports.identity.users import Listing
from domain.errors import MOST_ERRORS, FieldError, ValidationError, unknown_name
from domain.forms import uuid_of

V = TypeVar("V")
C = TypeVar("C", bound=str)

MAX_PAGE_SIZE = 100
_MAX_PAGE = 2**31 // MAX_PAGE_SIZE
_BOOLEANS = {"true": True, "false": False}
_DIRECTIONS = {"asc": False, "ascending": False, "desc": True, "descending": True}

SORTABLE_USERS = {
    "createdAt": "created_at",
    "email": "email",
    "fullName": "full_name",
    "isActive": "is_active",
    "lastLoginAt": "last_login_at",
    "updatedAt": "updated_at",
}
SORTABLE_TENANTS = {
    "createdAt": "created_at",
    "name": "name",
    "identifier": "identifier",
    "isActive": "is_active",
}


Parameters = Sequence[tuple[str, str]]


class Paging(TypedDict):
    """Common fields of area A's lists, in addition to the items."""

    total_count: int
    page: int
    page_size: int
    total_pages: int


class Paged(Protocol):
    """A listing with its page, from 1, and its size."""

    @property
    def page(self) -> int: ...
    @property
    def page_size(self) -> int: ...


def paging(listing: Paged, total: int) -> Paging:
    size = listing.page_size
    return Paging(total_count=total, page=listing.page, page_size=size, total_pages=math.ceil(total / size))


def read_listing(
    parameters: Parameters, *, tenant_id: UUID | None, filters: Sequence[str], sortable: Mapping[str, str]
) -> Listing:
    """Read the listing from the parameters; ``sortable`` maps property names to Python names.

    Raises ValidationError naming every unknown, repeated or invalid parameter.
    """
    return _ListingReader(parameters, [*_PLAIN, *filters]).listing(tenant_id, sortable)


_PLAIN = ("page", "pageSize", "search", "sortBy", "sortDirection")


class ParameterReader:
    """Parameters of a list; ``errors`` names unknown, repeated or wrong ones."""

    def __init__(self, parameters: Parameters, known: Sequence[str]) -> None:
        unknown = (name for name, _ in parameters if name not in known)
        self.errors = [FieldError(name, unknown_name(name, known)) for name in islice(unknown, MOST_ERRORS + 1)]
        self.given: dict[str, str] = {}
        for name, value in parameters:
            if name in self.given:
                self.errors.append(FieldError(name, "is given twice"))
            self.given[name] = value

    def page(self) -> int:
        return self._number("page", 1, _MAX_PAGE)

    def page_size(self) -> int:
        return min(self._number("pageSize", 20, None), MAX_PAGE_SIZE)

    def choices(self, name: str, known: Sequence[C]) -> frozenset[C]:
        """Return comma-separated values: ``status=pending,expired``; none without the parameter."""
        given = [text for text in self.given.get(name, "").split(",") if text]
        chosen = frozenset(choice for choice in known if choice in given)
        if len(chosen) != len(set(given)):
            self.errors.append(FieldError(name, f"must be one or more of: {', '.join(known)}"))
        return chosen

    def ensure_valid(self) -> None:
        """Raise ValidationError if a parameter has an error."""
        if self.errors:
            raise ValidationError(fields=self.errors)

    def ids(self, name: str) -> tuple[UUID, ...] | None:
        """Return comma-separated ids; None without the parameter."""
        texts = self.given[name].split(",") if name in self.given else None
        if texts is None:
            return None
        found = [read for text in texts if (read := uuid_of(text.strip())) is not None]
        if len(texts) > MAX_PAGE_SIZE or len(found) < len(texts):
            self.errors.append(FieldError(name, f"accepts up to {MAX_PAGE_SIZE} ids (UUID), separated by commas"))
            return None
        return tuple(dict.fromkeys(found))

    def _number(self, name: str, default: int, largest: int | None) -> int:
        text = self.given.get(name)
        if text is None:
            return default
        if not (text.isascii() and text.isdigit() and len(text) <= 18 and int(text) >= 1):
            self.errors.append(FieldError(name, "must be a whole number from 1"))
            return default
        return int(text) if largest is None else min(int(text), largest)


class _ListingReader(ParameterReader):
    def listing(self, tenant_id: UUID | None, sortable: Mapping[str, str]) -> Listing:
        listing = Listing(
            page=self.page(),
            page_size=self.page_size(),
            search=self.given.get("search") or None,
            tenant_id=tenant_id,
            role=self.given.get("role"),
            is_active=self._one_of("isActive", _BOOLEANS, None),
            ids=self.ids("id"),
            sort_by=self._one_of("sortBy", sortable, "created_at") or "created_at",
            descending=bool(self._one_of("sortDirection", _DIRECTIONS, True)),
        )
        self.ensure_valid()
        return listing

    def _one_of(self, name: str, choices: Mapping[str, V], default: V | None) -> V | None:
        text = self.given.get(name)
        if text is None:
            return default
        by_case = {choice.lower(): value for choice, value in choices.items()}
        if text.lower() not in by_case:
            self.errors.append(FieldError(name, f"must be one of: {', '.join(choices)}"))
        return by_case.get(text.lower(), default)
