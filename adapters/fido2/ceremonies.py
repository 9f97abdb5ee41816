"""Passkey ceremonies with ``fido2``, imported at the first ceremony."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from application.ports.identity.factors import Credential
from application.ports.identity.passkeys import Options, Response, Seen

if TYPE_CHECKING:
    from adapters.fido2.checks import CheckedServer


@dataclass(frozen=True)
class Fido2Ceremonies:
    """Passkey ceremonies for one relying party, with ``fido2``.

    ``origins`` are compared exactly; ``fido2`` would also accept any subdomain of the RP id.
    """

    rp_id: str
    name: str
    origins: frozenset[str]

    async def creation(
        self, handle: bytes, names: tuple[str, str], known: Sequence[Credential], challenge: bytes
    ) -> Options:
        return (await self._ready()).creation(handle, names, known, challenge)

    async def request(self, known: Sequence[Credential], challenge: bytes, *, is_login: bool) -> Options:
        return (await self._ready()).request(known, challenge, is_login=is_login)

    async def created(self, response: Response, challenge: bytes) -> Credential | None:
        return (await self._ready()).created(response, challenge)

    async def credential_id(self, response: Response) -> bytes | None:
        return (await self._ready()).credential_id(response)

    async def asserted(self, response: Response, challenge: bytes, credential: Credential) -> Seen | None:
        return (await self._ready()).asserted(response, challenge, credential)

    async def _ready(self) -> "CheckedServer":
        # The import needs 0.2 s, so run it in a thread at the first ceremony.
        return self._server if "_server" in self.__dict__ else await asyncio.to_thread(lambda: self._server)

    @cached_property
    def _server(self) -> "CheckedServer":
        from adapters.fido2.checks import CheckedServer

        return CheckedServer(self.rp_id, self.name, self.origins)
