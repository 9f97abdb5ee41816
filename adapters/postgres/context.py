"""Context of a transaction: its connection, registry and scope, from which each package creates its ports."""

from dataclasses import dataclass

from adapters.postgres.connection.connections import ServiceConnection
from adapters.postgres.entities.reading.narrowing import NO_SEARCHES, Searches
from application.ports.runtime import Ids
from domain.entities.declaration import Registry
from domain.scope import Scope


@dataclass(frozen=True, slots=True)
class PostgresContext:
    connection: ServiceConnection
    registry: Registry
    ids: Ids
    scope: Scope
    searches: Searches = NO_SEARCHES
