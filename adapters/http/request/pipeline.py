"""The only middleware, after the router: checks token, limits, permission and headers by the handler's rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from time import perf_counter
from typing import Any, cast

from litestar.connection import Request
from litestar.enums import ScopeType
from litestar.exceptions import HTTPException
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from adapters.http.request.bearer import bearer_key, bearer_token, repeated_header
from adapters.http.request.body import BodyReader, ClientGone, TooSlow
from adapters.http.request.client_address import Network, read_client
from adapters.http.request.errors import ErrorResponse, as_error, log_late, timed_out
from adapters.http.request.hosts import AllowedHosts, name_of
from adapters.http.request.outgoing import LargeAnswers, Outgoing
from adapters.http.request.rules import NOWHERE, RULES, Area, Rules
from adapters.http.request.strict_request import PARSED, StrictRequest, read_scope
from adapters.http.strict_reading import read_json, read_parameters
from application.denied_operations import DeniedOperations
from application.entities.cross_tenant_access import CrossTenantAccess
from application.identity.login.token_authentication import TokenAuthentication
from application.identity.service_accounts.key_authentication import KeyAuthentication
from application.ports.access_log import AccessLine, AccessLog
from application.ports.database import ASKED_BY
from application.ports.runtime import Clock
from application.throttle import AboutAccount, Renewal, Throttle, counted_for
from domain.errors import (
    BadRequest,
    Error,
    FieldError,
    Forbidden,
    InternalError,
    NotFound,
    RateLimited,
    Unauthorized,
    ValidationError,
    bound_hints,
    unknown_name,
)
from domain.identity.service_accounts import without_keys
from domain.identity.users import email_key
from domain.limits import REAUTHENTICATED, Hit, Limit
from domain.scope import Caller, Client, EveryTenant

AUDITED = frozenset({403, 429})  # of administration
FILES_LINKED = "files.linked"
"""Operation that serves contents of files by links."""
TENANT_SCOPE = b"x-tenant-scope"
LONG_BODY = timedelta(seconds=1)
"""Duration of a body after which the sender's rights are checked again."""


@dataclass(frozen=True, eq=False)
class Pipeline(ASGIMiddleware):
    """Stores its results in ``scope["auth"]`` (the caller) and ``scope["state"]`` (client, at, tenant_scope).

    With ``counts_limits`` False, it counts no rate limits, but still refuses revoked tokens. ``hosts`` None accepts any
    host. On ``files_host``, only ``files.linked`` is served. ``is_https`` adds HSTS. ``below`` is the path of the
    public address. ``recent`` is the maximum age of a recent proof.
    """

    tokens: TokenAuthentication
    keys: KeyAuthentication
    throttle: Throttle
    clock: Clock
    cross_tenant_access: CrossTenantAccess
    denied_operations: DeniedOperations
    log: AccessLog
    proxies: tuple[Network, ...] = ()
    counts_limits: bool = True
    hosts: AllowedHosts | None = None
    files_host: str = ""
    is_https: bool = False
    below: bytes = b""
    recent: timedelta = REAUTHENTICATED
    large: LargeAnswers = field(default_factory=LargeAnswers)
    scopes = (ScopeType.HTTP,)

    def __deepcopy__(self, _: object) -> "Pipeline":
        """Return this pipeline: registering a router copies its middleware, but all copies must share limits and
        tokens.
        """
        return self

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        started = perf_counter()
        http, rules = cast(HTTPScope, scope), cast(Rules, scope["route_handler"].opt[RULES])
        outgoing = self._begin(http, receive, send)
        outgoing.rules, outgoing.large = rules, self.large
        try:
            if rules.allow:
                await _answer_options(rules, outgoing)
            elif await self._is_let_in(rules, http, outgoing):
                await self._carry_out(rules, http, outgoing, next_app)
        except Exception as error:
            # The status was sent before the connection broke. The log entry reports the outcome.
            if not isinstance(error, ClientGone):
                http["state"].setdefault("refusal", InternalError.code)
                log_late(error, rules.operation, http["state"]["client"].request_id)
            raise
        finally:
            outgoing.end()
            if outgoing.status:  # a client that left received no answer
                self._note(rules.operation, http, outgoing.status, perf_counter() - started)
        if outgoing.status in AUDITED and rules.is_administration and (caller := http["auth"]) is not None:
            await self.denied_operations.note(caller, rules.operation, outgoing.status, http["state"]["client"])

    async def _carry_out(self, rules: Rules, scope: HTTPScope, outgoing: Outgoing, next_app: ASGIApp) -> None:
        await next_app(scope, outgoing.body, outgoing)
        if (refusal := outgoing.refusal) is not None:
            outgoing.refusal = None
            await _answer_error(refusal, rules, scope, outgoing)
        # Refund the count of a 429 that has another cause than the limits, such as a lack of slots or of time for a
        # password.
        if outgoing.status == 429 and outgoing.counted:
            await self.throttle.take_back(outgoing.counted)

    async def refuse(self, error: Exception, area: Area, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request without a handler. Litestar's router refuses such requests before any middleware."""
        started, http = perf_counter(), cast(HTTPScope, scope)
        outgoing = self._begin(http, receive, send)
        request_id = http["state"]["client"].request_id
        wrong_host = self._wrong_host(NOWHERE, http)
        told = wrong_host or as_error(Request(http), error, NOWHERE, request_id)
        await ErrorResponse(told, area, NOWHERE, request_id).respond(http, receive, outgoing)
        self._note(NOWHERE, http, outgoing.status, perf_counter() - started)

    def _begin(self, scope: HTTPScope, receive: Receive, send: Send) -> Outgoing:
        headers = dict(scope["headers"])
        client = read_client(scope, headers, self.proxies)
        state = scope["state"]
        state["client"], state["headers"], state["at"] = client, headers, self.clock.now()
        scope["auth"] = None
        bound_hints()
        body = BodyReader(scope, receive, headers)
        return Outgoing(body, client, scope["method"], send, is_https=self.is_https, below=self.below)

    async def _is_let_in(self, rules: Rules, scope: HTTPScope, outgoing: Outgoing) -> bool:
        """Return whether the request passes all checks; if not, send the refusal.

        An error raised by a middleware would bypass the middleware's own ``send``.
        """
        try:
            await self._judge(rules, scope, outgoing)
        except TooSlow:
            await timed_out().respond(scope, outgoing.body, outgoing)
        except Exception as error:  # noqa: BLE001  # nothing may leave as a broken connection
            await _answer_error(error, rules, scope, outgoing)
        else:
            return True
        return False

    async def _judge(self, rules: Rules, scope: HTTPScope, outgoing: Outgoing) -> None:
        """Check host, token, limits, permission, tenants and parameters in this order, before reading the body."""
        headers = scope["state"]["headers"]
        if wrong_host := self._wrong_host(rules.operation, scope):
            raise wrong_host
        refusal = await self._identify(rules, scope, headers)
        caller: Caller | None = scope["auth"]
        ASKED_BY.set(None if caller is None else caller.tenant_id or caller.user_id)
        if isinstance(rules.limit, Limit):
            await self._admit(rules.limit, rules, scope, outgoing, refusal)
        if refusal is not None:
            raise refusal
        rules.policy.ensure(scope["auth"])
        if rules.policy.recent and (caller := scope["auth"]) is not None:
            caller.ensure_recent(scope["state"]["at"], self.recent)
        if TENANT_SCOPE in headers:
            await self._open_scope(rules, scope, headers[TENANT_SCOPE])
        if rules.query is not None and scope["query_string"]:
            _ensure_known(rules.query, scope["query_string"])
        if outgoing.body.left and scope["auth"] is not None:
            outgoing.body.arrived = partial(self._judge_again, scope)

    async def _judge_again(self, scope: HTTPScope) -> None:
        """Check the token again after a slow body: its user may be disabled by now."""
        state, now = scope["state"], self.clock.now()
        if now - state["at"] <= LONG_BODY:
            return
        caller, renewal = await self._caller(scope, now)
        # It suffices to check the token's versions, because changed rights make the token stale. Pass no limits: the
        # request is already counted.
        if (refusal := (await self.throttle.admit([], caller, [], renewal)).refusal) is not None:
            raise refusal

    def _wrong_host(self, operation: str, scope: HTTPScope) -> Error | None:
        host = scope["state"]["headers"].get(b"host")
        # RFC 9112, 3.2: without Host, a proxy and the service may disagree about the host. Granian adds an empty one.
        if not host and scope["http_version"] == "1.1":
            return BadRequest("A request of HTTP/1.1 needs the header Host.")
        if self.hosts is not None and (refusal := self.hosts.refusal(host)) is not None:
            return refusal
        # Security: content of users gets no origin with pages or an API. Browsers accept a name with a dot at the end.
        if self.files_host and operation != FILES_LINKED:
            return NotFound() if name_of(host).rstrip(".").lower() == self.files_host else None
        return None

    async def _identify(self, rules: Rules, scope: HTTPScope, headers: dict[bytes, bytes]) -> Error | None:
        """Identify the caller. Count an invalid token against the client's address before refusing it."""
        # Security: a proxy may have checked another occurrence of a repeated header.
        given = cast(Sequence[tuple[bytes, bytes]], scope["headers"])
        if len(headers) != len(given) and (name := repeated_header(given)):
            return BadRequest(f"The header {name.decode('ascii')} occurs twice: send it once.")
        # Security: a proxy may have seen another end of such a body (RFC 9112, 6.1).
        coding = headers.get(b"transfer-encoding")
        if coding is not None and (coding.lower() != b"chunked" or b"content-length" in headers):
            return BadRequest("The header Transfer-Encoding must be chunked, without Content-Length.")
        if rules.policy.asks is None and not (rules.policy.reads_token and b"authorization" in headers):
            return None
        try:
            scope["auth"], scope["state"]["renewal"] = await self._caller(scope, scope["state"]["at"])
        # An API key may be refused for its network or after too many unknown keys.
        except (Unauthorized, Forbidden, RateLimited) as refusal:
            return refusal
        return None

    async def _caller(self, scope: HTTPScope, now: datetime) -> tuple[Caller, Renewal | None]:
        """Return the caller, and for an API key a function that reads an outdated cached key again."""
        authorization = scope["state"]["headers"].get(b"authorization")
        key = bearer_key(authorization)
        if key is None:
            return self.tokens.caller(bearer_token(authorization), now), None
        client: Client = scope["state"]["client"]
        caller = await self.keys.caller(key, client, now)
        return caller, partial(self.keys.renewed_caller, key, client, now)

    async def _admit(
        self, limit: Limit, rules: Rules, scope: HTTPScope, outgoing: Outgoing, refusal: Error | None
    ) -> None:
        """Check rate limits and revocation in one round trip."""
        caller: Caller | None = scope["auth"]
        client: Client = scope["state"]["client"]
        hits, instead = counted_for(limit, caller, client.network, refusal) if self.counts_limits else ([], [])
        key, too_large, renewal = None, None, scope["state"].get("renewal")
        if rules.by_email and self.counts_limits and refusal is None:
            key, too_large = await _email_of(scope, outgoing.body)
        if key is None:
            admitted = await self.throttle.admit(hits, caller, instead, renewal)
        else:
            is_silent, at = rules.by_email == "silent", scope["state"]["at"]
            address = Hit(limit, f"address:{client.network}")
            about = AboutAccount(email_key=key, address=address, client=client, at=at, silent=is_silent)
            admitted = await self.throttle.admit_about(about, caller, instead, renewal)
        if admitted.renewed is not None:
            scope["auth"] = admitted.renewed
        outgoing.verdict, outgoing.counted = admitted.verdict, admitted.counted
        if admitted.refusal is not None:
            raise admitted.refusal
        scope["state"]["is_silenced"] = admitted.is_silenced
        if too_large is not None:
            raise too_large

    async def _open_scope(self, rules: Rules, scope: HTTPScope, given: bytes) -> None:
        """Open the tenants in the header, with an audit entry."""
        caller: Caller | None = scope["auth"]
        if caller is None or not caller.is_super_admin:
            raise Forbidden
        if not rules.takes_scope:
            raise BadRequest("This endpoint does not accept X-Tenant-Scope: omit the header.")
        named = read_scope(given.strip())
        if rules.is_write and isinstance(named, EveryTenant):
            raise BadRequest("Rows are written in one tenant at a time: name it in X-Tenant-Scope.")
        await self.cross_tenant_access.open(caller, named, rules.operation, scope["state"]["client"])
        scope["state"]["tenant_scope"] = named

    def _note(self, operation: str, scope: HTTPScope, status: int, took: float) -> None:
        client: Client = scope["state"]["client"]
        caller: Caller | None = scope["auth"]
        user_id = caller.user_id if caller else None
        path = "/" + scope["path"].strip("/")
        is_key = scope["state"].get("renewal") is not None
        told = (client.request_id, client.address, user_id, operation, is_key, scope["state"].get("refusal"))
        self.log(AccessLine(scope["method"], without_keys(path), status, took, *told))


async def _answer_error(error: Exception, rules: Rules, scope: HTTPScope, outgoing: Outgoing) -> None:
    request_id = scope["state"]["client"].request_id
    told = as_error(Request(scope), error, rules.operation, request_id)
    answer = ErrorResponse(told, rules.area, rules.operation, request_id)
    await answer.respond(scope, outgoing.body, outgoing)


async def _answer_options(rules: Rules, outgoing: Outgoing) -> None:
    await outgoing({"type": "http.response.start", "status": 204, "headers": [(b"allow", rules.allow.encode())]})
    await outgoing({"type": "http.response.body", "body": b"", "more_body": False})


async def _email_of(scope: HTTPScope, body: BodyReader) -> tuple[str | None, Exception | None]:
    """Return the e-mail address in the body, for limits.

    Return None for a body that is too large or incomplete; the pipeline refuses it after counting.
    """
    request = StrictRequest(scope, cast(Any, body))
    try:
        value = read_json(await request.body(), decimals=False)
    except (HTTPException, ClientGone) as error:
        return None, error
    except BadRequest:
        return None, None
    if not isinstance(value, dict):
        return None, None
    scope["state"][PARSED] = value  # the handler need not parse it again
    email = value.get("email")
    return (email_key(email) if isinstance(email, str) else None), None


def _ensure_known(known: frozenset[str], query: bytes) -> None:
    unknown = dict.fromkeys(name for name, _ in read_parameters(query) if name not in known)
    if unknown:
        raise ValidationError(fields=(FieldError(name, unknown_name(name, known)) for name in unknown))
