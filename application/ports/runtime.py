"""Time, new identifiers, link secrets, password hashing, and breached passwords."""

from datetime import datetime
from typing import Protocol
from uuid import UUID


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the current time, aware and in UTC."""
        ...


class Ids(Protocol):
    def new(self) -> UUID:
        """Return a UUIDv7; within a process, ids sort in the order of their creation."""
        ...


class Outcomes(Protocol):
    """Counts outcomes of second factors, for operators' metrics."""

    def count(self, method: str, outcome: str) -> None: ...


class CodeOutcomes(Protocol):
    """Counts outcomes of codes, for operators' metrics: ``issued``, ``redeemed`` or ``refused``."""

    def count(self, outcome: str) -> None: ...


class Passwords(Protocol):
    """Password hashing outside the event loop: one computation per CPU core at a time, behind a bounded queue.

    Raises TooBusy if the queue is full; then nothing was computed.
    """

    async def hash(self, password: str) -> str:
        """Hash a password normalised with ``normal_password``."""
        ...

    async def verify(self, password: str, stored: str | None) -> bool:
        """Return whether the password matches.

        For None and malformed hashes, returns False after the time of a real verification. Pass the password as typed:
        the service hashes the NFKC form, while imported hashes are of the typed text.
        """
        ...

    def is_outdated(self, stored: str) -> bool:
        """Return whether the hash is weaker than a new one from ``hash``."""
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
    """Keyed digests of addresses. The key is outside the database, so a digest reveals no address."""

    def of(self, tenant_id: UUID, mailbox: str) -> list[bytes]:
        """Return digests of 32 bytes: first the one to store, then those made with the other secret key.

        Digests of one mailbox in two tenants are unrelated.
        """
        ...


class BreachedPasswords(Protocol):
    """Breach service that the project provides; Tenantry itself calls no such service."""

    # Security: a remote service should see only the beginning of a hash.

    async def is_breached(self, password: str) -> bool:
        """Return whether the NFKC password is known from data breaches; False if the breach service is unavailable."""
        ...


class InvitationOutcomes(Protocol):
    """Counts outcomes of invitations, for operators' metrics."""

    def count(self, outcome: str, many: int = 1) -> None:
        """Count an ``outcome``: ``sent``, ``resent``, ``accepted``, ``declined`` or ``revoked``.

        For domains: ``joined``, ``requested``, ``approved`` or ``refused``.
        """
        ...
