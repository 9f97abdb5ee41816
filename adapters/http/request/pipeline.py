"""The way of every request: token, limit, permission, body, endpoint; and what is added to every answer."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.request.bearer import Security
from adapters.http.request.body import ClientGone, Receive, declared_length, ensure_json, read_body, too_large
from adapters.http.request.endpoint import Answer, Call, Endpoint, Headers
from adapters.http.request.errors import error_answer, unknown_answer
from adapters.http.request.strict_json import read_json
from adapters.http.request.tenant_scope import NAME as TENANT_SCOPE
from application.ports.runtime import Clock
from application.throttle import Throttle
from domain.errors import (
    BadRequest,
    Error,
    FieldError,
    Forbidden,
    PayloadTooLarge,
    Unauthorized,
    ValidationError,
    unknown_name,
)
from domain.identity.users import email_key
from domain.limits import Hit, Limit, Verdict


@dataclass(frozen=True)
class Pipeline:
    """``counted`` False leaves limits out altogether; tokens are still asked for their revocation."""

    security: Security
    throttle: Throttle
    counted: bool = True

    async def answer(self, endpoint: Endpoint, call: Call, receive: Receive) -> Answer:
        """Raises ClientGone alone; whatever else happens is an answer."""
        try:
            return await self._run(endpoint, call, receive)
        except Error as error:
            return error_answer(error, endpoint.area, endpoint.operation, call.request_id)
        except ClientGone:
            raise
        except Exception as error:  # noqa: BLE001  # the last door: nothing may leave as a broken connection
            return unknown_answer(error, endpoint.area, endpoint.operation, call.request_id)

    async def _run(self, endpoint: Endpoint, call: Call, receive: Receive) -> Answer:
        refusal = self._identify(endpoint, call)
        if isinstance(endpoint.limit, Limit):
            await self._admit(endpoint, endpoint.limit, call, receive)
        if refusal is not None:
            raise refusal
        endpoint.policy.ensure(call.caller)
        if endpoint.scope is not None:
            call.scope = await endpoint.scope(call)
        elif TENANT_SCOPE in call.headers:
            raise _out_of_place(call)
        if endpoint.body is not None:
            await _read_body(endpoint, call, receive)
        if call.query_string and endpoint.area == "A":
            _ensure_takes_parameters(endpoint, call)
        return await endpoint.run(call)

    def _identify(self, endpoint: Endpoint, call: Call) -> Unauthorized | None:
        """A token that does not verify is refused only once it was counted, against the address."""
        if endpoint.policy.asks is None:
            return None
        try:
            call.caller = self.security.caller(call.headers.get(b"authorization"), call.at)
        except Unauthorized as refusal:
            return refusal
        return None

    async def _admit(self, endpoint: Endpoint, limit: Limit, call: Call, receive: Receive) -> None:
        address = Hit(limit, f"address:{call.client.network}")
        hits = [address if call.caller is None else Hit(limit, f"user:{call.caller.user_id}")] if self.counted else []
        if endpoint.by_email and self.counted:
            key = await _email_of(endpoint, call, receive)
            hits += [Hit(limit, f"email:{key}")] if key else []
        admitted = await self.throttle.admit(hits, call.caller, [address] if self.counted else [])
        call.verdict = admitted.verdict
        if admitted.refusal is not None:
            raise admitted.refusal


def _out_of_place(call: Call) -> Error:
    if call.caller is None or not call.caller.is_super_admin:
        return Forbidden()
    return BadRequest("X-Tenant-Scope is not taken here.")


def _ensure_takes_parameters(endpoint: Endpoint, call: Call) -> None:
    """Those that take some tell the unknown ones themselves."""
    if not any(one.place == "query" for one in endpoint.parameters):
        errors = [FieldError(name, unknown_name(name, ())) for name, _ in call.parameters()]
        if errors:
            raise ValidationError(fields=errors)


class Guarding(Protocol):
    @property
    def throttle(self) -> Throttle: ...
    @property
    def clock(self) -> Clock: ...


async def _read_body(endpoint: Endpoint, call: Call, receive: Receive) -> None:
    """413 before 415: what is too large by its own word is not looked at any further."""
    length = call.headers.get(b"content-length")
    if call.is_oversized or declared_length(length) > endpoint.largest_body:
        raise too_large(endpoint.largest_body)
    ensure_json(call.headers.get(b"content-type"))
    if call.body is None:
        call.body = await read_body(receive, endpoint.largest_body)


async def _email_of(endpoint: Endpoint, call: Call, receive: Receive) -> str | None:
    """Whom the request is about, as far as it can be told before it is judged; too large a body names nobody."""
    try:
        call.body = await read_body(receive, endpoint.largest_body)
        body = read_json(call.body, decimals=False)
    except PayloadTooLarge:
        call.is_oversized = True
        return None
    except BadRequest:
        return None
    email = body.get("email") if isinstance(body, dict) else None
    return email_key(email) if isinstance(email, str) else None


def limit_headers(verdict: Verdict) -> Headers:
    return (
        (b"x-ratelimit-limit", b"%d" % verdict.limit),
        (b"x-ratelimit-remaining", b"%d" % verdict.remaining),
        (b"x-ratelimit-reset", b"%d" % verdict.reset),
    )
