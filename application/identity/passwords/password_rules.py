"""Rules of new passwords: those of the domain, the words of this service, and a breach service where there is one."""

from collections.abc import Iterable
from dataclasses import dataclass

from application.ports.runtime import BreachedPasswords
from domain.errors import FieldError, ValidationError
from domain.identity.passwords import password_errors
from domain.identity.users import Membership, normal_password

SHORTEST_WORD = 3
"""Letters of a word of a name that counts by itself: shorter ones are part of too much."""


@dataclass(frozen=True)
class PasswordRules:
    """Check of new passwords: the rules of the domain with the words of this service, and a breach service.

    ``names`` are those of the service, such as its title and its host; with ``breaches`` None nobody is asked.
    """

    names: tuple[str, ...]
    breaches: BreachedPasswords | None

    async def errors(
        self, password: str, *, email: str, full_name: str, field: str, tenants: Iterable[str]
    ) -> tuple[FieldError, ...]:
        """Errors of a new password; ``tenants`` are names and identifiers of the account's tenants."""
        # NIST SP 800-63B names them: the service, the user, and what is derived from either.
        words = _words((*self.names, *tenants))
        found = password_errors(password, email=email, full_name=full_name, field=field, words=words)
        # A breach service is asked last: it costs a call, and learns nothing of passwords that are refused anyway.
        if not found and self.breaches is not None and await self.breaches.is_breached(normal_password(password)):
            return (FieldError(field, "was found in a data breach: choose another"),)
        return found

    async def ensure_good(
        self, password: str, *, email: str, full_name: str, field: str, tenants: Iterable[str]
    ) -> None:
        """Raises ValidationError with the errors of a new password."""
        found = await self.errors(password, email=email, full_name=full_name, field=field, tenants=tenants)
        if found:
            raise ValidationError(fields=found)


def names_of(memberships: Iterable[Membership]) -> list[str]:
    """Names and identifiers of the tenants; those of closed ones too, as a guesser knows them."""
    return [name for held in memberships for name in (held.tenant_name, held.tenant_identifier)]


def _words(names: Iterable[str]) -> set[str]:
    """The names, and the words that they consist of: ``Acme Tools`` or ``acme-tools``, ``Acme`` and ``Tools``."""
    given = set(names)
    words = (word for name in given for word in name.replace("-", " ").split())
    return given | {word for word in words if len(word) >= SHORTEST_WORD}
