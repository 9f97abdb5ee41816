"""``tenantry domains`` and ``join-requests``: the HTTP endpoints' use cases. Functions return the text."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from application.identity.joining.domains import DomainForm
from application.identity.joining.join_requests import ApprovalForm, JoinRequestItem
from domain.errors import NotFound
from domain.identity.domains import DomainMode
from domain.scope import Caller
from entrypoints.assembly.use_cases import Services
from entrypoints.cli.identity.administration import every_page
from entrypoints.cli.operator import CLIENT, operator_in
from entrypoints.cli.tables import listed
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import CommandError

DOMAIN_COLUMNS = ("domain", "state", "mode", "roles", "createdAt")
REQUEST_COLUMNS = ("email", "fullName", "domain", "createdAt", "id")


async def list_domains(services: Services, identifier: str) -> Answer:
    caller = await operator_in(services, identifier)
    return listed(await services.domains.all(caller), DOMAIN_COLUMNS)


async def add_domain(
    services: Services, domain: str, identifier: str, mode: DomainMode, roles: Sequence[str]
) -> Answer:
    caller = await operator_in(services, identifier)
    form = DomainForm(domain=domain, mode=mode, roles=list(roles)) if roles else DomainForm(domain=domain, mode=mode)
    added, _ = await services.domains.save(caller, form, CLIENT)
    if added.state == "verified":
        return Answer(f"{added.domain} is verified, with the mode {added.mode}.", [added])
    record = added.record
    published = f"{record.name} {record.type} {record.value}"
    text = f"{added.domain} waits for its proof. Publish this record, then verify the domain:\n{published}"
    return Answer(text, [added])


async def verify_domain(services: Services, domain: str, identifier: str) -> str:
    caller = await operator_in(services, identifier)
    with _known(domain, identifier):
        verified = await services.domains.verify(caller, domain, CLIENT)
    return Answer(f"{verified.domain} is verified, with the mode {verified.mode}.", [verified])


async def remove_domain(services: Services, domain: str, identifier: str) -> str:
    caller = await operator_in(services, identifier)
    with _known(domain, identifier):
        await services.domains.remove(caller, domain, CLIENT)
    return f"{domain} is removed: nobody joins {identifier} by it any more."


@contextmanager
def _known(domain: str, identifier: str) -> Iterator[None]:
    """Return the domain of the tenant. Raises CommandError for an unknown domain."""
    try:
        yield
    except NotFound:
        raise CommandError(
            f"The tenant {identifier} has no domain {domain}:"
            f" `tenantry domains list --tenant {identifier}` shows all of them."
        ) from None


async def list_requests(services: Services, identifier: str) -> Answer:
    requests = await _requests(services, await operator_in(services, identifier))
    return listed(requests, REQUEST_COLUMNS)


async def approve_request(services: Services, email: str, identifier: str, roles: Sequence[str]) -> str:
    """Approve a request; without ``roles``, the user gets the roles of the domain."""
    caller = await operator_in(services, identifier)
    found = await _request_of(services, caller, email)
    form = ApprovalForm(roles=list(roles)) if roles else ApprovalForm()
    joined = await services.join_requests.approve(caller, found.id, form, CLIENT)
    text = f"{found.email} is a member of {identifier} now, with these roles: {', '.join(joined.roles)}."
    return Answer(text, [joined])


async def decline_request(services: Services, email: str, identifier: str) -> str:
    caller = await operator_in(services, identifier)
    found = await _request_of(services, caller, email)
    await services.join_requests.decline(caller, found.id, CLIENT)
    return f"The request of {found.email} is declined."


async def _requests(services: Services, caller: Caller) -> list[JoinRequestItem]:
    return await every_page(lambda parameters: services.join_requests.page(caller, parameters))


async def _request_of(services: Services, caller: Caller, email: str) -> JoinRequestItem:
    """Return the request of an address, ignoring case. Raises CommandError for an address without a request."""
    found = [asked for asked in await _requests(services, caller) if asked.email.lower() == email.lower()]
    if not found:
        raise CommandError(f"{email} has not asked to join: `tenantry join-requests list` shows who has.")
    return found[0]
