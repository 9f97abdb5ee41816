"""Breach services: project functions that check whether a password is known from data breaches."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

log = logging.getLogger(__name__)

PATIENCE = 2.0
"""Seconds to wait for an answer, because a user is setting a password."""

Ask = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True)
class AskedBreaches:
    """Asks the project's function. If it fails or does not answer in time, the password is accepted."""

    ask: Ask
    patience: float = PATIENCE

    async def is_breached(self, password: str) -> bool:
        try:
            async with asyncio.timeout(self.patience):
                return bool(await self.ask(password))
        except Exception as error:  # noqa: BLE001  # the function is a user's, and an outage of it must stop nobody
            # Security: the traceback's frames hold the password.
            log.warning("The breach service did not answer: %s.", type(error).__name__)
            return False
