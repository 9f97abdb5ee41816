"""/api/users/{id}/sessions: sessions of members, for administrators."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get
from litestar.di import NamedDependency

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.administration.member_sessions import MemberSessions
from application.identity.self_service.my_sessions import SessionList

OfMembers: TypeAlias = NamedDependency[MemberSessions]


class MemberSessionsController(Controller):
    path = "/api/users/{user_id:str}/sessions"
    tags = ("users",)

    @get(
        "/",
        **operation("users.sessions", "List a user's sessions", needs("read:users")),
        description="Sessions in the caller's tenant, the last used first; from the tenant `system`, all of them.",
    )
    async def all(
        self, request: StrictRequest, user_id: PathId, member_sessions: OfMembers
    ) -> Response[Data[SessionList]]:
        return identity_data(await member_sessions.all(request.caller, read_id(user_id)))

    @delete(
        "/",
        **action("users.end-sessions", "End a user's sessions", needs("update:users")),
        description="Ends the sessions in the caller's tenant; their access tokens are dead at once.",
    )
    async def end_all(
        self, request: StrictRequest, user_id: PathId, member_sessions: OfMembers
    ) -> Response[MessageOnly]:
        await member_sessions.end(request.caller, read_id(user_id), None, request.from_client)
        return identity_message("The sessions are ended.")

    @delete(
        "/{session_id:str}",
        **action("users.end-session", "End one of a user's sessions", needs("update:users")),
        description="Its access token is dead at once. A session in another tenant is unknown.",
    )
    async def end(
        self, request: StrictRequest, user_id: PathId, session_id: PathId, member_sessions: OfMembers
    ) -> Response[MessageOnly]:
        await member_sessions.end(request.caller, read_id(user_id), read_id(session_id), request.from_client)
        return identity_message("The session is ended.")
