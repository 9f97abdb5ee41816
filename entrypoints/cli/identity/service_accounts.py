"""``tenantry service-accounts``: the HTTP endpoints' use cases. Functions return the text."""

from collections.abc import Sequence

from application.identity.service_accounts.forms import KeyForm, ServiceAccountForm, ServiceAccountItem
from domain.scope import Caller
from entrypoints.assembly.use_cases import Services
from entrypoints.cli.identity.administration import every_page
from entrypoints.cli.operator import CLIENT, operator_in
from entrypoints.cli.tables import listed
from entrypoints.terminal.answers import Answer
from entrypoints.terminal.errors import CommandError

ACCOUNT_COLUMNS = ("name", "roles", "isActive", "keys", "lastUsedAt", "id")
KEY_COLUMNS = ("name", "start", "permissions", "networks", "expiresAt", "lastUsedAt", "id")


async def list_service_accounts(services: Services, identifier: str) -> Answer:
    accounts = await _accounts(services, await operator_in(services, identifier))
    return listed(accounts, ACCOUNT_COLUMNS)


async def create_service_account(services: Services, name: str, identifier: str, roles: Sequence[str]) -> Answer:
    caller = await operator_in(services, identifier)
    made = await services.service_accounts.create(caller, ServiceAccountForm(name=name, roles=list(roles)), CLIENT)
    return Answer(f"The service account {made.name} has the id {made.id}.", [made])


async def list_keys(services: Services, name: str, identifier: str) -> Answer:
    caller = await operator_in(services, identifier)
    account = await _account_named(services, caller, name)
    return listed(await services.api_keys.all(caller, account.id), KEY_COLUMNS)


async def create_key(services: Services, name: str, identifier: str, key: str) -> Answer:
    caller = await operator_in(services, identifier)
    account = await _account_named(services, caller, name)
    made = await services.api_keys.create(caller, account.id, KeyForm(name=key), CLIENT)
    # The service stores only a digest of the key, so the key is shown once.
    return Answer(f"The key is shown this once: {made.key}", [made])


async def _accounts(services: Services, caller: Caller) -> list[ServiceAccountItem]:
    return await every_page(lambda parameters: services.service_accounts.page(caller, parameters))


async def _account_named(services: Services, caller: Caller, name: str) -> ServiceAccountItem:
    """Raises CommandError for an unknown name; ignores case, as the database does."""
    found = [account for account in await _accounts(services, caller) if account.name.lower() == name.lower()]
    if not found:
        raise CommandError(f"There is no service account {name!r}: `tenantry service-accounts list` shows all of them.")
    return found[0]
