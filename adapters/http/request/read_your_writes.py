"""The pipeline of a service with read replicas: it records each caller's writes, and determines the required freshness
of reads.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import cast

from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from adapters.http.request.outgoing import Outgoing
from adapters.http.request.pipeline import Pipeline
from adapters.http.request.rules import RULES, Rules
from application.freshness import Freshness
from application.ports.replicas import WANTED, Position
from domain.errors import BadRequest, Error
from domain.limits import Limit
from domain.scope import Caller

READ_AFTER = b"x-read-after"
_POSITION = re.compile(rb"([0-9A-F]{1,8})-([0-9A-F]{1,16})\Z")


@dataclass(frozen=True, eq=False, kw_only=True)
class ReplicaPipeline(Pipeline):
    """Pipeline for read replicas.

    A response to a write has the header X-Read-After; a request with this header reads no older state.

    Only entities and users' routes use replicas: identity reads from the primary.
    """

    freshness: Freshness

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        before = WANTED.set(None)
        try:
            await super().handle(scope, receive, send, self._noting(next_app))
        finally:
            WANTED.reset(before)

    async def _admit(
        self, limit: Limit, rules: Rules, scope: HTTPScope, outgoing: Outgoing, refusal: Error | None
    ) -> None:
        caller: Caller | None = scope["auth"]
        if caller is None or rules.area != "B" or rules.is_write:
            await super()._admit(limit, rules, scope, outgoing, refusal)
            return
        # A separate task joins the round trip of the limits.
        asked = asyncio.create_task(self.freshness.wanted(caller.session_id))
        try:
            await super()._admit(limit, rules, scope, outgoing, refusal)
            wanted = await asked
        finally:
            asked.cancel()
        given = _position(scope["state"]["headers"].get(READ_AFTER))
        if wanted is not None and given is not None:
            wanted = wanted.at_least(given)
        WANTED.set(wanted)

    def _noting(self, next_app: ASGIApp) -> ASGIApp:
        async def noted(scope: Scope, receive: Receive, send: Send) -> None:
            caller = cast(Caller | None, scope["auth"])
            rules: Rules = scope["route_handler"].opt[RULES]
            if caller is None or rules.area != "B" or not rules.is_write:
                await next_app(scope, receive, send)
                return
            session_id = caller.session_id

            async def send_noted(message: Message) -> None:
                # Add the header to refusals too: after a conflict, the caller must see the write that caused it.
                if message["type"] == "http.response.start":
                    position = await self.freshness.written(session_id)
                    message["headers"] = [*message["headers"], (READ_AFTER, str(position).encode("ascii"))]
                await send(message)

            await next_app(scope, receive, send_noted)

        return noted


def _position(given: bytes | None) -> Position | None:
    """Return the header's position. Raises BadRequest if it is invalid."""
    if given is None:
        return None
    found = _POSITION.match(given)
    if found is None:
        raise BadRequest("X-Read-After must be the value of that header in an earlier response.")
    return Position(int(found[1], 16), int(found[2], 16))
