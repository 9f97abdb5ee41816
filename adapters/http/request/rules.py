"""Rules of a handler, said in its ``opt``: who may call it, how often, and what it takes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.types import Guard
from msgspec import Struct

from domain.errors import Forbidden, Unauthorized
from domain.limits import Limit
from domain.scope import Caller

Area = Literal["A", "B", "OAuth"]
"""A is identity, B is entities and everything else: two envelopes. OAuth is the form of RFC 6749's errors."""

NOWHERE = "nowhere"
"""Operation of a request that no handler answers."""

RULES = "rules"
"""Key of ``opt`` under which the merged Rules of a handler lie."""


@dataclass(frozen=True)
class Policy:
    """Permission to call: ``asks`` is the kind of token, None where no token is asked for.

    ``or_permission`` opens the handler too, which then checks itself for the permission that it takes. With
    ``reads_token`` a token that is shown to a public handler is verified, and names the caller. ``people`` refuses
    service accounts; ``recent`` asks for a proof of the last minutes (TENANTRY_REAUTH_MINUTES), which the pipeline
    judges.
    """

    asks: Literal["any", "tenant"] | None
    permission: str | None = None
    super_admin: bool = False
    or_permission: str | None = None
    reads_token: bool = False
    recent: bool = False
    people: bool = False

    def ensure(self, caller: Caller | None) -> None:
        """Raises Forbidden, before anybody looks whether the thing exists."""
        if self.people and caller is not None:
            caller.ensure_person()
        if self.asks is None:
            return
        if caller is None:
            raise Unauthorized
        if self.asks == "tenant" and caller.is_global:
            raise Forbidden("A Global Token only serves to choose a tenant: switch to one first.")
        if self.super_admin and not caller.is_super_admin:
            raise Forbidden
        if self.permission is not None and not (self.or_permission and caller.may(self.or_permission)):
            caller.ensure_may(self.permission)


PUBLIC = Policy(None)
PUBLIC_OR_TOKEN = Policy(None, reads_token=True, people=True)
ANY_TOKEN = Policy("any")
TENANT_TOKEN = Policy("tenant")
PEOPLE = Policy("any", people=True)
RECENT_PEOPLE = Policy("any", recent=True, people=True)


def needs(permission: str, *, recent: bool = False, people: bool = False) -> Policy:
    """A Tenant Token that holds the permission: ``needs("read:products")``; Policy explains the rest."""
    return Policy("tenant", permission, recent=recent, people=people)


def super_admin(permission: str) -> Policy:
    """Super-admins alone, and of them those who hold the permission."""
    return Policy("tenant", permission, super_admin=True)


class Unlimited(Struct, frozen=True):
    """The limit of health, keys and the documentation: none."""


UNLIMITED = Unlimited()


class Ordinary(Struct, frozen=True):
    """The limit of what the specification's tables do not list: 100 a minute, counted under the handler's name."""


ORDINARY = Ordinary()


@dataclass(frozen=True)
class Parameter:
    """Query parameter or header that a handler reads from the raw request; ``schema`` is a JSON schema.

    ``style`` is told for an object, whose members are parameters of their own (``form``).
    """

    name: str
    schema: Mapping[str, object]
    description: str = ""
    place: Literal["query", "header"] = "query"
    style: Literal["form"] | None = None


_READS_IN = Parameter(
    "X-Tenant-Scope",
    {"type": "string"},
    "For super-admins: `all` reads over all tenants, whose rows then show `tenantId`; a tenant's id reads in that one.",
    "header",
)
_WRITES_IN = Parameter(
    "X-Tenant-Scope",
    {"type": "string", "format": "uuid"},
    "For super-admins: the id of the tenant to write in.",
    "header",
)

LONGEST_APP_ID = 100
"""Letters of the longest name that an application can be registered under."""

APP_ID = Parameter(
    "X-App-Id",
    {"type": "string", "maxLength": LONGEST_APP_ID},
    "The application that asks; beats `requestedAppId` in the body.",
    "header",
)

Parameters = tuple[Parameter, ...] | Callable[[], tuple[Parameter, ...]]
"""A function is called when the document is asked for: an entity's list takes many."""


class FurtherOptions(TypedDict, total=False):
    """Keys of ``opt`` that ``operation`` takes by name; RuleOptions explains them."""

    limit: Limit | Ordinary | Unlimited
    area: Area
    by_email: Literal[True, "silent"]
    takes_scope: bool
    any_query: bool
    parameters: Parameters
    example: Mapping[str, object]
    form: Mapping[str, object]


class RuleOptions(FurtherOptions, total=False):
    """Keys of ``opt`` that this service reads.

    ``policy`` and ``limit`` are required of every handler, by itself or by its router. ``by_email`` counts the limit
    for the e-mail in the body as well, tenfold over all networks: above it a request is refused, or with ``"silent"``
    answered as always and not carried out. ``takes_scope`` accepts the header X-Tenant-Scope. ``any_query`` lets query
    parameters through that the handler does not declare; else they are refused by name. ``parameters`` are those
    that the handler reads itself, naming unknown ones. ``errors`` are codes beyond those that follow from the other
    rules, ``example`` is a body for the document, ``form`` describes, by its media type, one that the handler reads
    from the wire.
    """

    policy: Policy
    errors: tuple[str, ...]


def rules(**options: Unpack[RuleOptions]) -> dict[str, Any]:
    """``opt=rules(policy=needs("read:products"), limit=Limit("report", 10))``; layers merge downwards."""
    unknown = options.keys() - RuleOptions.__annotations__.keys()
    assert not unknown, f"no such rule: {', '.join(sorted(unknown))}"
    # registering a router copies opt deeply, and a bound method with the object it is bound to
    assert not hasattr(options.get("parameters"), "__self__"), "parameters are a tuple or a plain function"
    return dict(options)


NO_SESSION = ("ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "MFA_REQUIRED", "MFA_ENROLMENT_REQUIRED")
"""Errors of an account that proved who it is, and gets no session as it stands."""


def operation(
    name: str, summary: str, policy: Policy, *errors: str, **options: Unpack[FurtherOptions]
) -> dict[str, Any]:
    """Arguments of a handler's decorator: ``@get("/", **operation("users.get", "Read a user", ANY_TOKEN))``."""
    return {"name": name, "summary": summary, "opt": rules(policy=policy, errors=errors, **options)}


def action(name: str, summary: str, policy: Policy, *errors: str, **options: Unpack[FurtherOptions]) -> dict[str, Any]:
    """Arguments as of ``operation``, for a POST or DELETE that makes nothing: it answers 200, with an envelope."""
    return {**operation(name, summary, policy, *errors, **options), "status_code": 200}


def unlisted(name: str) -> dict[str, Any]:
    """Arguments of the decorator of a page outside the API's document: no token is asked for, and no limit counts.

    A handler may refuse by itself, as `/metrics` does.
    """
    return {"name": name, "include_in_schema": False, "opt": rules(policy=PUBLIC, limit=UNLIMITED)}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of one handler as they stand after ``opt`` was merged from application to handler.

    ``query`` names the query parameters taken, None where the pipeline judges none of them. ``allow`` is what an
    automatic OPTIONS handler answers with, empty for every other. ``is_cached``: Litestar stores the responses.
    ``named`` has the names that clients send, by the arguments that have another name.
    """

    policy: Policy
    limit: Limit | Unlimited
    area: Area
    operation: str
    by_email: Literal[True, "silent"] | None = None
    takes_scope: bool = False
    any_query: bool = False
    is_write: bool = False
    query: frozenset[str] | None = None
    parameters: Parameters = ()
    errors: tuple[str, ...] = ()
    example: Mapping[str, object] | None = None
    form: Mapping[str, object] | None = None
    allow: str = ""
    is_cached: bool = False
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_private(self) -> bool:
        """Whether responses are for their caller alone: all that need a token, and all of area A."""
        return self.policy.asks is not None or (self.area == "A" and isinstance(self.limit, Limit))

    @property
    def is_administration(self) -> bool:
        """Whether refusals stand in the audit trail: operations of area A that need a permission."""
        return self.area == "A" and (self.policy.permission is not None or self.policy.super_admin)

    def described_parameters(self) -> tuple[Parameter, ...]:
        own = self.parameters() if callable(self.parameters) else self.parameters
        scope = (_WRITES_IN if self.is_write else _READS_IN,) if self.takes_scope else ()
        return (*own, *scope)


def allowed(methods: Iterable[str]) -> tuple[str, ...]:
    """Methods in the order of the header ``Allow``: HEAD and OPTIONS, which come by themselves, at the end."""
    return tuple(sorted(methods, key=lambda method: (_BY_THEMSELVES.get(method, 0), method)))


_BY_THEMSELVES = {"HEAD": 1, "OPTIONS": 2}


def requires(permission: str) -> Guard:
    """A guard for handlers whose policy stands elsewhere: ``guards=[requires("update:products")]``.

    It is async because Litestar runs a synchronous guard in a thread, at ten times its cost.
    """

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        needs(permission).ensure(connection.scope.get("auth"))

    return guard
