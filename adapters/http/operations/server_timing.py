"""``Server-Timing``: how long each stage of a request took. Put around the stages only where a setting asks for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from time import perf_counter_ns
from typing import Any

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from adapters.http.request.rules import RULES, Rules
from application.identity.login.token_authentication import TokenAuthentication
from application.throttle import Admitted, Renewal, Throttle
from domain.limits import Hit
from domain.scope import Caller

STAGES = ("routing", "token", "limits", "body", "work", "database")
"""Stages in the order of the header. Time that belongs to no other stage is that of ``routing``."""

NEVER = "/api/auth/"
"""Paths without times: these would tell anybody what the answers conceal, such as whether an account exists."""


class Watch:
    """Clock of a request that counts each moment for one stage: entering a stage stops the one around it."""

    __slots__ = ("_since", "_spent", "_stage", "is_shown")

    def __init__(self) -> None:
        self.is_shown = False
        self._stage, self._since = STAGES[0], perf_counter_ns()
        self._spent: dict[str, int] = {}

    def turn(self, stage: str) -> str:
        """The stage before."""
        before, now = self._stage, perf_counter_ns()
        self._spent[before] = self._spent.get(before, 0) + now - self._since
        self._stage, self._since = stage, now
        return before

    def text(self) -> str:
        """Milliseconds until now, cut to microseconds, so that the stages never add up to more than the total."""
        self.turn(self._stage)
        spent = [(stage, self._spent[stage]) for stage in STAGES if stage in self._spent]
        total = sum(took for _, took in spent)
        return ", ".join(f"{name};dur={_milliseconds(took)}" for name, took in [*spent, ("total", total)])


def _milliseconds(nanoseconds: int) -> str:
    microseconds = nanoseconds // 1_000
    return f"{microseconds // 1_000}.{microseconds % 1_000:03}"


_WATCH: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def on(stage: str) -> Iterator[None]:
    """Outside a request, such as in the background, nothing is timed."""
    watch = _WATCH.get()
    if watch is None:
        yield
        return
    before = watch.turn(stage)
    try:
        yield
    finally:
        watch.turn(before)


class ServerTiming(ASGIMiddleware):
    """Middleware around the pipeline: shows times to callers alone who have a token and all that the handler asks for.

    ``WorkTiming`` stands behind the pipeline and says that a caller was let in.
    """

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        watch = Watch()

        async def timed_receive() -> Any:
            with on("body"):
                return await receive()

        async def timed_send(message: Message) -> None:
            if message["type"] == "http.response.start" and watch.is_shown:
                message["headers"] = [*message["headers"], (b"server-timing", watch.text().encode())]
            await send(message)

        before = _WATCH.set(watch)
        try:
            await next_app(scope, timed_receive, timed_send)
        finally:
            _WATCH.reset(before)


class WorkTiming(ASGIMiddleware):
    """Middleware behind the pipeline: times what a request is let in for."""

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        rules: Rules = scope["route_handler"].opt[RULES]
        watch = _WATCH.get()
        assert watch is not None  # of ServerTiming
        watch.is_shown = rules.policy.asks is not None and not scope["path"].startswith(NEVER)
        with on("work"):
            await next_app(scope, receive, send)


class TimedTokens(TokenAuthentication):
    def caller(self, token: str, now: datetime) -> Caller:
        with on("token"):
            return super().caller(token, now)


class TimedThrottle(Throttle):
    async def admit(
        self, hits: Sequence[Hit], caller: Caller | None, instead: Sequence[Hit], renewal: Renewal | None = None
    ) -> Admitted:
        with on("limits"):
            return await super().admit(hits, caller, instead, renewal)


def timed_throttle(throttle: Throttle) -> TimedThrottle:
    return TimedThrottle(throttle.admissions, throttle.database, throttle.enforced, throttle.counts)
