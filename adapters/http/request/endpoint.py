"""What an endpoint is: one line of the table that routes, tests and the description are made from."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar

from msgspec import Struct

from adapters.http.request.body import EMPTY, IDENTITY_BODY, Receive, read_parameters
from adapters.http.request.rules import (
    ANY_TOKEN,
    NOWHERE,
    PUBLIC,
    TENANT_TOKEN,
    UNLIMITED,
    Area,
    Parameter,
    Policy,
    Unlimited,
    needs,
    super_admin,
)
from adapters.http.request.strict_json import read_object
from domain.audit import Client
from domain.entities.forms import read_form
from domain.errors import Forbidden, Unauthorized
from domain.limits import LOGIN as LOGIN_LIMIT
from domain.limits import Limit, Verdict, entity_limit
from domain.limits import endpoint_limit as ordinary_limit
from domain.scope import Caller, OneTenant, Scope

__all__ = [
    "ANY_TOKEN",
    "LOGIN_LIMIT",
    "PUBLIC",
    "TENANT_TOKEN",
    "UNLIMITED",
    "Parameter",
    "entity_limit",
    "needs",
    "ordinary_limit",
    "super_admin",
]  # with the policies, what a table of endpoints is made of

F = TypeVar("F", bound=Struct)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Headers = tuple[tuple[bytes, bytes], ...]


class Answer(Struct, frozen=True):
    """``body`` is whole, or comes in pieces."""

    status: int
    body: bytes | AsyncIterator[bytes] = b""
    headers: Headers = ()


@dataclass(slots=True, kw_only=True)
class Call:
    """One request as its endpoint sees it; ``body`` is read before the endpoint runs, ``at`` is when it came.

    ``receive`` is for those that read their body themselves, piece by piece.
    """

    method: str
    path: str
    path_params: Mapping[str, str]
    query_string: bytes
    headers: Mapping[bytes, bytes]
    client: Client
    at: datetime
    caller: Caller | None = None
    verdict: Verdict | None = None
    body: bytes | None = None
    is_oversized: bool = False
    scope: Scope | None = None
    receive: Receive | None = None
    operation: str = NOWHERE

    @property
    def request_id(self) -> str:
        return self.client.request_id

    @property
    def signed_in(self) -> Caller:
        """The caller of an endpoint that asks for a token."""
        if self.caller is None:
            raise Unauthorized
        return self.caller

    @property
    def reach(self) -> Scope:
        """Whose rows it is about."""
        return self.signed_in.tenant if self.scope is None else self.scope

    @property
    def tenant(self) -> OneTenant:
        """The tenant whose rows it writes; a bypass of them all has been refused before."""
        if not isinstance(self.reach, OneTenant):
            raise Forbidden
        return self.reach

    def header(self, name: bytes) -> str | None:
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def parameters(self) -> tuple[tuple[str, str], ...]:
        return read_parameters(self.query_string) if self.query_string else ()

    def form(self, kind: type[F]) -> F:
        """Raises ValidationError with every field that is wrong, and every one that is unknown."""
        return read_form(kind, self.json())

    def json(self, decimals: bool = False) -> dict[str, object]:
        """The body as an object; ``decimals`` keeps fractions exact, which money needs."""
        return read_object(self.body or EMPTY, decimals)


Wrapping = Literal["data", "success", "bare", "message", "none", "other"]


@dataclass(frozen=True)
class Shown:
    """What an answer is, for the description: its status, its schema's name or struct, and what goes around it.

    ``data`` is the area's envelope, ``success`` the one of register, ``bare`` nothing around it, ``message``
    an envelope without data, ``none`` no body. ``files`` are content types that it comes in beside, or instead.
    """

    status: int
    wrapping: Wrapping
    body: type[Struct] | str | None = None
    headers: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


Run = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """``path`` names its parameters as ``{user_id}``; ``body`` is the form's struct, or None where none is read.

    ``scope`` says whose rows a call is about, where it may be others than those of the caller's tenant.
    ``form_data`` is the JSON schema of a multipart form, which the endpoint reads itself.
    ``by_email`` counts the limit for the e-mail in the body as well as for the address; ``errors`` are codes
    beyond those that follow from everything else said here.
    """

    method: Method
    path: str
    run: Run = field(repr=False)
    policy: Policy
    limit: Limit | Unlimited
    area: Area
    operation: str
    tag: str
    summary: str
    shown: tuple[Shown, ...]
    description: str = ""
    body: type[Struct] | None = None
    largest_body: int = IDENTITY_BODY
    example: Mapping[str, object] | None = None
    parameters: tuple[Parameter, ...] = ()
    errors: tuple[str, ...] = ()
    by_email: bool = False
    form_data: Mapping[str, object] | None = None
    scope: Callable[[Call], Awaitable[Scope]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        assert isinstance(self.policy, Policy), f"{self.operation} states no policy"
        assert isinstance(self.limit, (Limit, Unlimited)), f"{self.operation} states no limit"
