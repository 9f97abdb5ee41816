"""/api/tenants/current/domains: domains of the caller's tenant, and the access that they give."""

from typing import TypeAlias

from litestar import Controller, Response, delete, get, post
from litestar.di import NamedDependency
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, JSONBody

from adapters.http.request.responses import Data, MessageOnly, identity_data, identity_message
from adapters.http.request.rules import action, needs, operation
from adapters.http.request.strict_request import StrictRequest
from application.identity.joining.domains import DomainAdministration, DomainForm, DomainItem
from domain.limits import Limit

MAY_READ = needs("update:tenant-settings", people=True)
MAY_CHANGE = needs("update:tenant-settings", recent=True, people=True)

ADD_TEXT = """`record` is the TXT record that proves the domain: publish it, then verify the domain. `mode` is what \
somebody with a confirmed address there gets at their next login: `join` makes them a member with `roles`, `request` \
asks the tenant, `off` does nothing. 200 for a domain that is there already: its mode and roles are replaced. 409 for \
a domain that is verified elsewhere."""
REPLACED = {200: ResponseSpec(Data[DomainItem], generate_examples=False)}

Domains: TypeAlias = NamedDependency[DomainAdministration]

VERIFY_DOMAIN = Limit("verify-domain", 10)


class DomainsController(Controller):
    path = "/api/tenants/current/domains"
    tags = ("tenants",)

    @get("/", **operation("tenants.domains", "List the tenant's domains", MAY_READ))
    async def all(self, request: StrictRequest, domains: Domains) -> Response[Data[list[DomainItem]]]:
        return identity_data(await domains.all(request.caller))

    @post(
        "/",
        **operation(
            "tenants.save-domain",
            "Add a domain, or change what it gives",
            MAY_CHANGE,
            "CONFLICT",
            example={"domain": "acme.example", "mode": "request", "roles": ["Member"]},
        ),
        description=ADD_TEXT,
        responses=REPLACED,
    )
    async def save(
        self, request: StrictRequest, data: JSONBody[DomainForm], domains: Domains
    ) -> Response[Data[DomainItem]]:
        saved, is_new = await domains.save(request.caller, data, request.from_client)
        if not is_new:
            return identity_data(saved, 200)
        return identity_data(saved, headers={"location": "/api/tenants/current/domains"})

    @post(
        "/{domain:str}/verify",
        **action(
            "tenants.verify-domain",
            "Look up the record of a domain",
            MAY_CHANGE,
            "NOT_FOUND",
            "CONFLICT",
            limit=VERIFY_DOMAIN,
        ),
        description="409 while the record is not there. It is looked up again every day. Takes no body.",
    )
    async def verify(
        self, request: StrictRequest, domain: FromPath[str], domains: Domains
    ) -> Response[Data[DomainItem]]:
        return identity_data(await domains.verify(request.caller, domain, request.from_client))

    @delete(
        "/{domain:str}",
        **action("tenants.remove-domain", "Remove a domain", MAY_CHANGE, "NOT_FOUND"),
        description="Members who came by it stay.",
    )
    async def remove(self, request: StrictRequest, domain: FromPath[str], domains: Domains) -> Response[MessageOnly]:
        await domains.remove(request.caller, domain, request.from_client)
        return identity_message("The domain is removed: nobody joins by it any more.")
