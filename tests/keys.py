"""The service's keys, made once per test run, since making an RSA key takes a tenth of a second."""

from domain.identity.signing_keys import SigningKey
from domain.scope import EveryTenant
from entrypoints.use_cases import Services

_made: list[SigningKey] = []


async def ensure_keys(services: Services) -> None:
    """Stores the keys; all services of a test run share one secret, so each can open them."""
    async with services.database.autocommit(EveryTenant()) as tx:
        for key in _made:
            await tx.keys.add_first(key)
        await services.signing_keys.ensure()
        _made[:] = await tx.keys.all()
