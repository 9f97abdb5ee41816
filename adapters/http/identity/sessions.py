"""/api/auth/sessions: where one is signed in."""

from dataclasses import dataclass
from typing import Protocol

from adapters.http.request.endpoint import ANY_TOKEN, Answer, Call, Endpoint, Shown, ordinary_limit
from adapters.http.request.old_responses import data, message
from adapters.http.request.paths import id_in
from application.identity.my_sessions import MySessions, SessionList


class KeepingSessions(Protocol):
    @property
    def my_sessions(self) -> MySessions: ...


@dataclass(frozen=True)
class SessionEndpoints:
    sessions: MySessions

    async def all(self, call: Call) -> Answer:
        return data(await self.sessions.all(call.signed_in))

    async def end(self, call: Call) -> Answer:
        await self.sessions.end(call.signed_in, id_in(call, "session_id"), call.client)
        return message("The session is ended.")


def session_endpoints(services: KeepingSessions) -> list[Endpoint]:
    made = SessionEndpoints(services.my_sessions)
    return [
        Endpoint(
            method="GET",
            path="/api/auth/sessions",
            run=made.all,
            policy=ANY_TOKEN,
            limit=ordinary_limit("auth.sessions"),
            area="A",
            operation="auth.sessions",
            tag="auth",
            summary="List one's own sessions",
            description="The last used first; a session's id is the claim `sid` of its tokens.",
            shown=(Shown(200, "data", SessionList),),
        ),
        Endpoint(
            method="DELETE",
            path="/api/auth/sessions/{session_id}",
            run=made.end,
            policy=ANY_TOKEN,
            limit=ordinary_limit("auth.end-session"),
            area="A",
            operation="auth.end-session",
            tag="auth",
            summary="End one of one's own sessions",
            description="Its access token is dead at once.",
            shown=(Shown(200, "message"),),
        ),
    ]
