"""`DnsRecords` with dnspython, using the machine's DNS servers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from application.ports.identity.domains import DnsUnavailable

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

PATIENCE = 5.0
"""Seconds for an answer, over all servers and attempts."""

MOST_RECORDS = 100
"""Maximum number of TXT records read per name, to limit the time."""


@dataclass(frozen=True)
class DnspythonRecords:
    """TXT records looked up with dnspython.

    ``servers`` are addresses of DNS servers; None uses the machine's (``/etc/resolv.conf``).
    """

    servers: Sequence[str] | None = None
    port: int = 53
    patience: float = PATIENCE

    async def texts(self, name: str) -> Sequence[str]:
        # Import late: most processes never look up DNS.
        import dns.asyncresolver
        import dns.exception
        import dns.name
        import dns.resolver

        try:
            # Absolute name: the machine's search list could answer for a name below another domain.
            asked = dns.name.from_text(name, origin=dns.name.root)
            answer = await self._resolver().resolve(asked, "TXT", search=False, lifetime=self.patience)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return ()
        except dns.exception.DNSException as error:
            raise DnsUnavailable(str(error)) from None
        except OSError as error:
            raise DnsUnavailable(str(error)) from None
        # Security: an alias may lead to another owner, such as a website provider.
        if answer.canonical_name != asked:
            return ()
        # Replace other bytes instead of failing the lookup: the text then matches no proof.
        return [b"".join(record.strings).decode("ascii", "replace") for record in list(answer)[:MOST_RECORDS]]

    def _resolver(self) -> "Resolver":
        import dns.asyncresolver

        resolver = dns.asyncresolver.Resolver(configure=self.servers is None)
        if self.servers is not None:
            resolver.nameservers = list(self.servers)
            resolver.port = self.port
        return resolver
