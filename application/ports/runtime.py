"""Time, new identifiers, secrets of links, password hashing, and passwords known from breaches."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    def now(self) -> datetime:
        """The current time, aware and in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """A UUIDv7; within a process later ids sort after earlier ones."""
        ...


class Outcomes(Protocol):
    """Counts what came of second factors, for the operator's metrics."""

    def count(self, method: str, outcome: str) -> None: ...


class CodeOutcomes(Protocol):
    """Counts what came of codes, for the operator's metrics: ``issued``, ``redeemed`` or ``refused``."""

    def count(self, outcome: str) -> None: ...


class Passwords(Protocol):
    """Hashes outside the event loop, as many at a time as there are cores, behind a bounded queue.

    Raises TooBusy when the queue is full; nothing was computed then.
    """

    async def hash(self, password: str) -> str:
        """Hash of a password that was normalised with ``normal_password``."""
        ...

    async def verify(self, password: str, stored: str | None) -> bool:
        """Whether the password matches; False for None and malformed hashes, after the time of a real verification.

        Takes the password as typed: the service's hashes are of its NFKC, imported ones of the typed text.
        """
        ...

    def is_outdated(self, stored: str) -> bool:
        """Whether the hash is weaker than what ``hash`` makes now."""
        ...


class LinkSecrets(Protocol):
    """Secrets, derived with a key that is not in the database, so that the outbox need not contain them."""

    def code(self, mail_id: UUID) -> str:
        """The secret of this mail's link, as its reader may type it; the same mail always gets the same one."""
        ...

    def secret(self, record_id: UUID) -> str:
        """A secret of 256 bits, which nobody types; the same record always gets the same one."""
        ...


class AddressDigests(Protocol):
    """Digests of addresses, by a key that is not in the database: whoever reads a digest learns no address."""

    def of(self, tenant_id: UUID, mailbox: str) -> list[bytes]:
        """Digests of 32 bytes; the first is what is stored, further ones are of the other secret key.

        Digests of one mailbox in two tenants have nothing in common.
        """
        ...


class BreachedPasswords(Protocol):
    """A breach service of the project; Tenantry itself asks nobody."""

    # Security: a service that is asked over the network should see no more than the beginning of a hash.

    async def is_breached(self, password: str) -> bool:
        """Whether the password, in NFKC, is known from data breaches; False while the breach service is away."""
        ...


class InvitationOutcomes(Protocol):
    """Counts what came of invitations, for the operator's metrics."""

    def count(self, outcome: str, many: int = 1) -> None:
        """``outcome`` is ``sent``, ``resent``, ``accepted``, ``declined`` or ``revoked``.

        Of domains it is ``joined``, ``requested``, ``approved`` or ``refused``.
        """
        ...
