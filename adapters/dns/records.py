"""`DnsRecords` by dnspython, which asks the servers of the machine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from application.ports.identity.domains import DnsUnavailable

if TYPE_CHECKING:
    from dns.asyncresolver import Resolver

PATIENCE = 5.0
"""Seconds for an answer, over all servers and tries."""

MOST_RECORDS = 100
"""More TXT records at one name are nobody's proof, but somebody's burden."""


@dataclass(frozen=True)
class DnspythonRecords:
    """TXT records of the domain name system, looked up by dnspython.

    ``servers`` are the addresses of the servers to ask; None asks those that the machine is configured with
    (``/etc/resolv.conf``).
    """

    servers: Sequence[str] | None = None
    port: int = 53
    patience: float = PATIENCE

    async def texts(self, name: str) -> Sequence[str]:
        # Imported with the first look-up: most processes never make one.
        import dns.asyncresolver
        import dns.exception
        import dns.name
        import dns.resolver

        try:
            # Absolute, or a search list of the machine could answer with a name below another domain.
            asked = dns.name.from_text(name, origin=dns.name.root)
            answer = await self._resolver().resolve(asked, "TXT", search=False, lifetime=self.patience)
        except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
            return ()
        except dns.exception.DNSException as error:
            raise DnsUnavailable(str(error)) from None
        except OSError as error:
            raise DnsUnavailable(str(error)) from None
        # Security: the target of an alias may be somebody else's, such as a provider of web sites.
        if answer.canonical_name != asked:
            return ()
        # Bytes beyond ASCII are kept apart from every proof instead of failing the look-up.
        return [b"".join(record.strings).decode("ascii", "replace") for record in list(answer)[:MOST_RECORDS]]

    def _resolver(self) -> "Resolver":
        import dns.asyncresolver

        resolver = dns.asyncresolver.Resolver(configure=self.servers is None)
        if self.servers is not None:
            resolver.nameservers = list(self.servers)
            resolver.port = self.port
        return resolver
