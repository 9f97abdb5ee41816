"""Removal of expired data, by the rules of all parts."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.ports import RETAINED as ENTITIES
from adapters.postgres.entities.webhooks.ports import RETAINED as WEBHOOKS
from adapters.postgres.identity.joining.ports import RETAINED as JOINING
from adapters.postgres.identity.listings import TABLES
from adapters.postgres.identity.ports import RETAINED as IDENTITY
from adapters.postgres.identity.service_accounts.ports import RETAINED as SERVICE_ACCOUNTS
from adapters.postgres.statements.aged_rows import Retained, removing
from adapters.postgres.statements.compiled import CompiledStatement, compiled
from domain.parts.login import TOKEN_VERSIONS
from domain.parts.operations import MAILS
from domain.retention import RetentionRule

RETAINED: Retained = {
    **IDENTITY,
    **JOINING,
    **SERVICE_ACCOUNTS,
    **ENTITIES,
    **WEBHOOKS,
    TOKEN_VERSIONS: removing(TABLES["revocation_counts"], TABLES["revocation_counts"].c.ended_at),
    MAILS: removing(TABLES["outbox"], TABLES["outbox"].c.given_up_at),
}
_CLAIM = "SELECT pg_try_advisory_xact_lock(hashtextextended('tenantry.housekeeping', 0))"


@cache
def statement_of(rule: RetentionRule) -> CompiledStatement:
    return compiled(RETAINED[rule])


@dataclass(frozen=True, slots=True)
class PostgresRetention:
    connection: ServiceConnection

    async def claim(self) -> bool:
        return bool(await self.connection.fetchval(_CLAIM))

    async def remove(self, rule: RetentionRule, before: datetime, most: int) -> int:
        statement = statement_of(rule)
        arguments = statement.arguments({"before": before, "most": most})
        gone: int = await self.connection.fetchval(statement.text, *arguments)
        return gone
