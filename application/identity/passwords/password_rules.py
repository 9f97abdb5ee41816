"""Rules of new passwords: the domain's, this service's words, and an optional breach service."""

from collections.abc import Iterable
from dataclasses import dataclass

from application.ports.runtime import BreachedPasswords
from domain.errors import FieldError, ValidationError
from domain.identity.passwords import password_errors
from domain.identity.users import Membership, normal_password

SHORTEST_WORD = 3
"""Minimum length of a separately checked word of a name: shorter words match too often."""


@dataclass(frozen=True)
class PasswordRules:
    """Check of new passwords by the domain's rules, words of this service, and a breach service.

    ``names`` are those of the service, such as title and host; ``breaches`` None skips the breach check.
    """

    names: tuple[str, ...]
    breaches: BreachedPasswords | None

    async def errors(
        self, password: str, *, email: str, full_name: str, field: str, tenants: Iterable[str]
    ) -> tuple[FieldError, ...]:
        """Return the errors of a new password; ``tenants`` are names and identifiers of the account's tenants."""
        # NIST SP 800-63B forbids names of the service and the user, and derivatives.
        words = _words((*self.names, *tenants))
        found = password_errors(password, email=email, full_name=full_name, field=field, words=words)
        # Ask the breach service last: a request costs time, and must not contain a password that another rule refuses.
        if not found and self.breaches is not None and await self.breaches.is_breached(normal_password(password)):
            return (FieldError(field, "was found in a data breach: choose another"),)
        return found

    async def ensure_good(
        self, password: str, *, email: str, full_name: str, field: str, tenants: Iterable[str]
    ) -> None:
        """Raise ValidationError with the errors of a new password."""
        found = await self.errors(password, email=email, full_name=full_name, field=field, tenants=tenants)
        if found:
            raise ValidationError(fields=found)


def names_of(memberships: Iterable[Membership]) -> list[str]:
    """Return names and identifiers of the tenants, including closed ones, because an attacker may know these too."""
    return [name for held in memberships for name in (held.tenant_name, held.tenant_identifier)]


def _words(names: Iterable[str]) -> set[str]:
    """The names, and each word of a name: ``Acme Tools``, ``Acme`` and ``Tools``."""
    given = set(names)
    words = (word for name in given for word in name.replace("-", " ").split())
    return given | {word for word in words if len(word) >= SHORTEST_WORD}
