"""Rules of a handler, declared in its ``opt``: callers, rate limit and input."""

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
"""A is identity, B is entities and all else: two envelopes. OAuth is the error format of RFC 6749."""

NOWHERE = "nowhere"
"""Operation of a request without a handler."""

RULES = "rules"
"""Key in ``opt`` for a handler's merged Rules."""


@dataclass(frozen=True)
class Policy:
    """Permission to call a handler: ``asks`` is the required kind of token, or None.

    ``or_permission`` also admits callers with this or one of these permissions, which the handler then checks. With
    ``reads_token``, the pipeline verifies a token sent to a public handler, and the token identifies the caller.
    ``people`` refuses service accounts. ``recent`` requires a recent proof (TENANTRY_REAUTH_MINUTES); the pipeline
    checks it.
    """

    asks: Literal["any", "tenant"] | None
    permission: str | None = None
    super_admin: bool = False
    or_permission: str | tuple[str, ...] | None = None
    reads_token: bool = False
    recent: bool = False
    people: bool = False

    def ensure(self, caller: Caller | None) -> None:
        """Raise Forbidden or Unauthorized if the policy refuses the caller; runs before any lookup."""
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
        if self.permission is not None and not caller.may(self.permission):
            caller.ensure_may(*self.further_permissions)

    @property
    def further_permissions(self) -> tuple[str, ...]:
        """The permissions of ``or_permission``."""
        return (self.or_permission,) if isinstance(self.or_permission, str) else self.or_permission or ()


PUBLIC = Policy(None)
PUBLIC_OR_TOKEN = Policy(None, reads_token=True, people=True)
ANY_TOKEN = Policy("any")
TENANT_TOKEN = Policy("tenant")
PEOPLE = Policy("any", people=True)
RECENT_PEOPLE = Policy("any", recent=True, people=True)


def needs(permission: str, *, recent: bool = False, people: bool = False) -> Policy:
    """Require a Tenant Token with the permission: ``needs("read:products")``; see Policy."""
    return Policy("tenant", permission, recent=recent, people=people)


def super_admin(permission: str, *, recent: bool = False, people: bool = False) -> Policy:
    """Allow only super-admins with the permission; see Policy."""
    return Policy("tenant", permission, super_admin=True, recent=recent, people=people)


class Unlimited(Struct, frozen=True):
    """No limit, for health, keys and the documentation."""


UNLIMITED = Unlimited()


class Ordinary(Struct, frozen=True):
    """Default limit outside the specification's tables: 100 a minute, counted under the handler's name."""


ORDINARY = Ordinary()


@dataclass(frozen=True)
class Parameter:
    """Query parameter or header read by the handler from the raw request; ``schema`` is a JSON schema.

    Set ``style`` for an object with members that are separate parameters (``form``).
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
"""Maximum length of a registered application's name."""

APP_ID = Parameter(
    "X-App-Id",
    {"type": "string", "maxLength": LONGEST_APP_ID},
    "The application that asks; beats `requestedAppId` in the body.",
    "header",
)

Parameters = tuple[Parameter, ...] | Callable[[], tuple[Parameter, ...]]
"""Parameters, or a function called when the document is built, because an entity's list has many."""


class FurtherOptions(TypedDict, total=False):
    """Keys of ``opt`` that ``operation`` accepts as keyword arguments; see RuleOptions."""

    limit: Limit | Ordinary | Unlimited
    area: Area
    by_email: Literal[True, "silent"]
    takes_scope: bool
    any_query: bool
    parameters: Parameters
    example: Mapping[str, object]
    form: Mapping[str, object]
    own: bool


class RuleOptions(FurtherOptions, total=False):
    """Keys of ``opt`` that this service reads.

    Every handler or its router needs ``policy`` and ``limit``. ``by_email`` also counts the limit for the e-mail
    address in the body, and ten times the limit over all networks. The service refuses a request above the limit; with
    ``"silent"`` it answers as usual but does nothing. ``takes_scope`` accepts the header X-Tenant-Scope. ``any_query``
    accepts undeclared query parameters; without it, the pipeline refuses them and names them. The handler reads
    ``parameters`` and reports unknown ones. ``errors`` are additional codes, ``example`` is a body for the document.
    ``form`` describes, by media type, a body that the handler streams. ``own`` limits a project's handler to the
    caller's own rows, as the generated routes do.
    """

    policy: Policy
    errors: tuple[str, ...]


def rules(**options: Unpack[RuleOptions]) -> dict[str, Any]:
    """Return rules for a handler or layer: ``opt=rules(policy=needs("read:products"), limit=Limit("report", 10))``.
    Layers merge downwards.
    """
    unknown = options.keys() - RuleOptions.__annotations__.keys()
    assert not unknown, f"no such rule: {', '.join(sorted(unknown))}"
    # Registering a router deep-copies opt, including the object of a bound method.
    assert not hasattr(options.get("parameters"), "__self__"), "parameters are a tuple or a plain function"
    return dict(options)


NO_SESSION = ("ACCOUNT_DISABLED", "EMAIL_NOT_CONFIRMED", "MFA_REQUIRED", "MFA_ENROLMENT_REQUIRED")
"""Errors of an authenticated account in a state that permits no session."""


def operation(
    name: str, summary: str, policy: Policy, *errors: str, **options: Unpack[FurtherOptions]
) -> dict[str, Any]:
    """Return decorator arguments: ``@get("/", **operation("users.get", "Read a user", ANY_TOKEN))``."""
    return {"name": name, "summary": summary, "opt": rules(policy=policy, errors=errors, **options)}


def action(name: str, summary: str, policy: Policy, *errors: str, **options: Unpack[FurtherOptions]) -> dict[str, Any]:
    """Return arguments as ``operation`` does, for a POST or DELETE without creation: 200 with an envelope."""
    return {**operation(name, summary, policy, *errors, **options), "status_code": 200}


def unlisted(name: str) -> dict[str, Any]:
    """Return decorator arguments of a page outside the API's document, without token and limit."""
    return {"name": name, "include_in_schema": False, "opt": rules(policy=PUBLIC, limit=UNLIMITED)}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Rules of one handler: the application's ``opt``, overridden by each layer down to the handler's ``opt``.

    ``query`` names the accepted query parameters; None means that the pipeline does not check them. ``allow`` is the
    header of an automatic OPTIONS handler, and empty for any other handler. ``is_cached``: Litestar stores the
    responses. ``named`` maps arguments to the names that clients send.
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
    own: bool = False
    named: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_private(self) -> bool:
        """Whether responses are private to their caller: all responses to a token, and all responses of area A."""
        return self.policy.asks is not None or (self.area == "A" and isinstance(self.limit, Limit))

    @property
    def is_administration(self) -> bool:
        """Whether the audit trail records refusals: operations of area A with a permission."""
        return self.area == "A" and (self.policy.permission is not None or self.policy.super_admin)

    def described_parameters(self) -> tuple[Parameter, ...]:
        own = self.parameters() if callable(self.parameters) else self.parameters
        scope = (_WRITES_IN if self.is_write else _READS_IN,) if self.takes_scope else ()
        return (*own, *scope)


def allowed(methods: Iterable[str]) -> tuple[str, ...]:
    """Return the methods in the order of ``Allow``, with the automatic HEAD and OPTIONS last."""
    return tuple(sorted(methods, key=lambda method: (_BY_THEMSELVES.get(method, 0), method)))


_BY_THEMSELVES = {"HEAD": 1, "OPTIONS": 2}


def requires(permission: str) -> Guard:
    """Return a guard for a handler with a separate policy: ``guards=[requires("update:products")]``.

    The guard is async, because Litestar runs a synchronous guard in a thread at ten times the cost.
    """

    async def guard(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
        needs(permission).ensure(connection.scope.get("auth"))

    return guard
