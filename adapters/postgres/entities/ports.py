"""Ports of entities' rows."""

from adapters.postgres.context import PostgresContext
from adapters.postgres.entities.attachments.files import PostgresAttachedFiles, PostgresUnusedFiles
from adapters.postgres.entities.changes.log import PostgresChanges
from adapters.postgres.entities.changes.sequencer import PostgresChangeQueue
from adapters.postgres.entities.files.copying import PostgresTransfers
from adapters.postgres.entities.history import PostgresHistory
from adapters.postgres.entities.idempotency import PostgresIdempotencyStore
from adapters.postgres.entities.member_references import PostgresMemberReferences
from adapters.postgres.entities.reading.summaries import PostgresSummaries
from adapters.postgres.entities.records import PostgresRecords
from adapters.postgres.entities.shares import PostgresShares
from adapters.postgres.identity.listings import TABLES
from adapters.postgres.statements.aged_rows import Retained, removing
from domain.parts.entities import ANSWERS


class PostgresEntityPorts(PostgresContext):
    __slots__ = ()

    @property
    def records(self) -> PostgresRecords:
        return PostgresRecords(self.connection, self.registry, self.scope, self.searches)

    @property
    def whole_records(self) -> PostgresRecords:
        return self.records.whole()

    @property
    def answers(self) -> PostgresIdempotencyStore:
        return PostgresIdempotencyStore(self.connection)

    @property
    def history(self) -> PostgresHistory:
        return PostgresHistory(self.connection, self.scope)

    @property
    def changes(self) -> PostgresChanges:
        return PostgresChanges(self.connection, self.registry, self.scope)

    @property
    def change_queue(self) -> PostgresChangeQueue:
        return PostgresChangeQueue(self.connection)

    @property
    def shares(self) -> PostgresShares:
        return PostgresShares(self.connection, self.scope)

    @property
    def attached_files(self) -> PostgresAttachedFiles:
        return PostgresAttachedFiles(self.connection, self.scope)

    @property
    def unused_files(self) -> PostgresUnusedFiles:
        return PostgresUnusedFiles(self.connection, self.registry)

    @property
    def summaries(self) -> PostgresSummaries:
        return PostgresSummaries(self.connection, self.registry, self.scope)

    @property
    def member_references(self) -> PostgresMemberReferences:
        return PostgresMemberReferences(self.connection, self.registry)

    @property
    def transfers(self) -> PostgresTransfers:
        return PostgresTransfers(self.connection, self.registry, self.scope)


RETAINED: Retained = {ANSWERS: removing(TABLES["kept_answers"], TABLES["kept_answers"].c.at)}
