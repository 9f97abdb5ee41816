"""TXT records set by a test."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from application.ports.identity.domains import DnsUnavailable


@dataclass
class MemoryDnsRecords:
    """TXT records set by a test, in place of DNS.

    ``records`` are by name; ``aliases`` map names to other names (CNAME). While ``is_away``, lookups fail.
    """

    records: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    is_away: bool = False

    async def texts(self, name: str) -> Sequence[str]:
        if self.is_away:
            raise DnsUnavailable("The servers do not answer.")
        return () if name in self.aliases else tuple(self.records.get(name, ()))
