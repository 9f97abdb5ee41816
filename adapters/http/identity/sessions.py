"""/api/auth/sessions: the caller's own sessions."""

from litestar import Controller, Response, delete, get
from litestar.di import NamedDependency

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import ANY_TOKEN, ORDINARY, rules
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.my_sessions import MySessions, SessionList


class SessionsController(Controller):
    path = "/api/auth/sessions"
    tags = ("auth",)
    opt = rules(area="A", limit=ORDINARY)

    @get(
        "/",
        name="auth.sessions",
        summary="List one's own sessions",
        description="The last used first; a session's id is the claim `sid` of its tokens.",
        opt=rules(policy=ANY_TOKEN),
    )
    async def all(
        self, request: StrictRequest, my_sessions: NamedDependency[MySessions]
    ) -> Response[Data[SessionList]]:
        return identity_data(await my_sessions.all(request.caller))

    @delete(
        "/{session_id:str}",  # and not :uuid: a malformed id passes token, limit and permission before it is a 404
        name="auth.end-session",
        # and not 204, which has no body: a message is answered
        status_code=200,
        summary="End one of one's own sessions",
        description="Its access token is dead at once.",
        opt=rules(policy=ANY_TOKEN),
    )
    async def end(
        self, request: StrictRequest, session_id: PathId, my_sessions: NamedDependency[MySessions]
    ) -> Response[MessageOnly]:
        await my_sessions.end(request.caller, read_id(session_id), request.from_client)
        return identity_message("The session is ended.")
