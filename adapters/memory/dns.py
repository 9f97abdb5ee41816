"""TXT records that a test sets."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from application.ports.identity.domains import DnsUnavailable


@dataclass
class MemoryDnsRecords:
    """TXT records that a test sets, in place of the domain name system.

    ``records`` are by name; ``aliases`` are names that lead to other names (CNAME); while it ``is_away`` nothing is
    known.
    """

    records: dict[str, list[str]] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    is_away: bool = False

    async def texts(self, name: str) -> Sequence[str]:
        if self.is_away:
            raise DnsUnavailable("The servers do not answer.")
        return () if name in self.aliases else tuple(self.records.get(name, ()))
