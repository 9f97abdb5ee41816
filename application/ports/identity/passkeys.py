"""Passkey ceremonies (WebAuthn Level 3): options for browsers, and verification of their answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from application.ports.identity.factors import Credential

Options = dict[str, Any]
Response = Mapping[str, Any]
"""A browser's credential as JSON (``PublicKeyCredential.toJSON``)."""


class Seen(Struct, frozen=True, kw_only=True):
    """Content of a verified assertion; ``user_handle`` is None if the browser omitted it."""

    counter: int
    is_user_verified: bool
    backup_eligible: bool
    backed_up: bool
    user_handle: bytes | None


class PasskeyCeremonies(Protocol):
    """Passkey ceremonies: options for browsers, and all checks of a browser's answer except those of stored state.

    The caller creates and stores the random challenges. This port checks type, challenge, origin (exactly, against the
    list), cross-origin use, RP id, user presence, algorithm and signature. The caller checks counter, backup
    eligibility, user handle, and whether verification is needed.
    """

    async def creation(
        self, handle: bytes, names: tuple[str, str], known: Sequence[Credential], challenge: bytes
    ) -> Options:
        """Return options for a new passkey of the user; ``names`` are the address and the shown name."""
        ...

    async def request(self, known: Sequence[Credential], challenge: bytes, *, is_login: bool) -> Options:
        """Return options to request one of ``known``; for a login, any discoverable passkey with user verification."""
        ...

    async def created(self, response: Response, challenge: bytes) -> Credential | None:
        """Return the new credential, or None if the response is invalid."""
        ...

    async def credential_id(self, response: Response) -> bytes | None:
        """Return the id in a response, not yet verified."""
        ...

    async def asserted(self, response: Response, challenge: bytes, credential: Credential) -> Seen | None:
        """Return the verified assertion; None if it is invalid."""
        ...
