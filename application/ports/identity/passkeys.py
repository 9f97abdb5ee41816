"""Ceremonies of passkeys (WebAuthn Level 3): options for browsers, and the verification of their answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from application.ports.identity.factors import Credential

Options = dict[str, Any]
Response = Mapping[str, Any]
"""A credential as browsers make JSON of it (``PublicKeyCredential.toJSON``)."""


class Seen(Struct, frozen=True, kw_only=True):
    """Content of an assertion whose signature verified; ``user_handle`` is None where the browser left it out."""

    counter: int
    is_user_verified: bool
    backup_eligible: bool
    backed_up: bool
    user_handle: bytes | None


class PasskeyCeremonies(Protocol):
    """Ceremonies of passkeys: options for browsers, and every check of a browser's answer but those of stored state.

    Challenges are random bytes of the caller's, which keeps them. Checked are type, challenge, origin (exactly, against
    the list), cross-origin use, RP id, user presence, algorithm and signature. Left to the caller: counter, backup
    eligibility, user handle, and whether verification is needed.
    """

    async def creation(
        self, handle: bytes, names: tuple[str, str], known: Sequence[Credential], challenge: bytes
    ) -> Options:
        """Options for a new passkey of the user; ``names`` are the address and the shown name."""
        ...

    async def request(self, known: Sequence[Credential], challenge: bytes, *, is_login: bool) -> Options:
        """Options to show one of ``known``; for a login any discoverable one, whose user must be verified."""
        ...

    async def created(self, response: Response, challenge: bytes) -> Credential | None:
        """The new credential; None for whatever is wrong with the response."""
        ...

    async def credential_id(self, response: Response) -> bytes | None:
        """The id that a response names, not yet verified."""
        ...

    async def asserted(self, response: Response, challenge: bytes, credential: Credential) -> Seen | None:
        """What the assertion says; None for whatever is wrong with it."""
        ...
