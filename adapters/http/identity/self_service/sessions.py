"""/api/auth/sessions: the caller's own sessions."""

from litestar import Controller, Response, delete, get
from litestar.di import NamedDependency

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import PEOPLE, action, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.self_service.my_sessions import MySessions, SessionList


class SessionsController(Controller):
    path = "/api/auth/sessions"
    tags = ("auth",)

    @get(
        "/",
        **operation("auth.sessions", "List one's own sessions", PEOPLE),
        description="The last used first; a session's id is the claim `sid` of its tokens.",
    )
    async def all(
        self, request: StrictRequest, my_sessions: NamedDependency[MySessions]
    ) -> Response[Data[SessionList]]:
        return identity_data(await my_sessions.all(request.caller))

    @delete(
        "/{session_id:str}",
        **action("auth.end-session", "End one of one's own sessions", PEOPLE, "REAUTHENTICATION_REQUIRED"),
        description="Its access token is dead at once. Another session than the caller's own needs a recent proof.",
    )
    async def end(
        self, request: StrictRequest, session_id: PathId, my_sessions: NamedDependency[MySessions]
    ) -> Response[MessageOnly]:
        await my_sessions.end(request.caller, read_id(session_id), request.from_client)
        return identity_message("The session is ended.")
