"""``Server-Timing``: duration of each stage of a request, measured only if a setting asks for it."""

from typing import Any

from litestar.enums import ScopeType
from litestar.middleware import ASGIMiddleware
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from adapters.http.request.rules import RULES, Rules
from application.stage_times import WATCH, Watch, on

NEVER = "/api/auth/"
"""Paths without times, because times would reveal secrets, such as whether an account exists."""


def told(watch: Watch) -> str:
    """Format the milliseconds until now, truncated to microseconds so that the stages do not exceed the total."""
    spent = watch.spent()
    total = sum(took for _, took in spent)
    return ", ".join(f"{name};dur={_milliseconds(took)}" for name, took in [*spent, ("total", total)])


def _milliseconds(nanoseconds: int) -> str:
    microseconds = nanoseconds // 1_000
    return f"{microseconds // 1_000}.{microseconds % 1_000:03}"


class ServerTiming(ASGIMiddleware):
    """Middleware around the pipeline. It shows times only to callers with a token and all required permissions.

    ``WorkTiming`` runs after the pipeline and reports to it that the pipeline admitted the caller.
    """

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        watch = Watch()

        async def timed_receive() -> Any:
            with on("body"):
                return await receive()

        async def timed_send(message: Message) -> None:
            if message["type"] == "http.response.start" and watch.is_shown:
                message["headers"] = [*message["headers"], (b"server-timing", told(watch).encode())]
            await send(message)

        before = WATCH.set(watch)
        try:
            await next_app(scope, timed_receive, timed_send)
        finally:
            WATCH.reset(before)


class WorkTiming(ASGIMiddleware):
    """Middleware after the pipeline that times the work of an admitted request."""

    scopes = (ScopeType.HTTP,)

    async def handle(self, scope: Scope, receive: Receive, send: Send, next_app: ASGIApp) -> None:
        rules: Rules = scope["route_handler"].opt[RULES]
        watch = WATCH.get()
        assert watch is not None  # of ServerTiming
        watch.is_shown = rules.policy.asks is not None and not scope["path"].startswith(NEVER)
        with on("work"):
            await next_app(scope, receive, send)
