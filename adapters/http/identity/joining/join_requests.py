"""/api/join-requests: requests to join the caller's tenant."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.params import JSONBody

from adapters.http.identity.administration.listing import PAGE_PARAMETERS
from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import action, needs, operation
from adapters.http.request.strict_request import PathId, StrictRequest, read_id
from application.identity.joining.join_requests import (
    USUAL_APPROVAL,
    AdmittedMember,
    ApprovalForm,
    JoinRequestAdministration,
    JoinRequestPage,
)

MAY_DECIDE = needs("create:invitations")
Requests: TypeAlias = NamedDependency[JoinRequestAdministration]


class JoinRequestsController(Controller):
    path = "/api/join-requests"
    tags = ("join-requests",)

    @get(
        "/",
        **operation("join-requests.page", "List requests to join", MAY_DECIDE, parameters=PAGE_PARAMETERS),
        description="Those that wait, the oldest first. The id of a request is that of the account.",
    )
    async def page(self, request: StrictRequest, join_requests: Requests) -> Response[Data[JoinRequestPage]]:
        return identity_data(await join_requests.page(request.caller, request.parameters()))

    @post(
        "/{user_id:str}/approve",
        **action(
            "join-requests.approve",
            "Let somebody join",
            MAY_DECIDE,
            "NOT_FOUND",
            "CONFLICT",
            example={"roles": ["Member"]},
        ),
        description="Without `roles` those of the domain are given. 409 when the account has another address by now.",
    )
    async def approve(
        self,
        request: StrictRequest,
        user_id: PathId,
        join_requests: Requests,
        data: JSONBody[ApprovalForm] = USUAL_APPROVAL,
    ) -> Response[Data[AdmittedMember]]:
        found = read_id(user_id)
        return identity_data(await join_requests.approve(request.caller, found, data, request.from_client))

    @delete(
        "/{user_id:str}",
        **action("join-requests.decline", "Decline a request to join", MAY_DECIDE, "NOT_FOUND"),
        description="Nobody is told. The next login does not ask again; an invitation still lets the person in.",
    )
    async def decline(self, request: StrictRequest, user_id: PathId, join_requests: Requests) -> Response[MessageOnly]:
        await join_requests.decline(request.caller, read_id(user_id), request.from_client)
        return identity_message("The request is declined.")
