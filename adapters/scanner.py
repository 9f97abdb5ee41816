"""Function of a project that examines uploaded files."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from domain.errors import ServiceUnavailable

log = logging.getLogger(__name__)

PATIENCE = 10.0
"""Seconds that the function may need."""


@dataclass(frozen=True)
class AskedScanner:
    """Calls the function. ``patience`` is in seconds."""

    function: Callable[[Path], Awaitable[str | None]]
    patience: float = PATIENCE

    async def scan(self, path: Path) -> str | None:
        """Return the reason to refuse the file, or None. Raises ServiceUnavailable if the function fails."""
        try:
            async with asyncio.timeout(self.patience):
                return await self.function(path)
        except Exception:
            # Security: a file that nobody has examined must not be stored.
            log.exception("The function in TENANTRY_FILES_SCANNER failed.")
            raise ServiceUnavailable from None
