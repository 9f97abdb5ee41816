"""Operations on rows of several entities, all or none, in their order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from uuid import UUID

from application.entities.checks.conditional_changes import change_of
from application.entities.crud import Crud
from application.entities.guarded_fields import GuardedFields
from application.entities.transactions.joint_write import JointWrite
from application.entities.transactions.parts import WrittenPart
from application.entities.transactions.reading import EnsureMay, Operation, OperationReader
from application.entities.writing import Write, WriteOutcome, conflict_after_tries, replayed_response, store_response
from application.ports.database import Database
from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import NewRow, Stored
from application.ports.runtime import Clock, Ids
from domain.entities.bodies import Body
from domain.entities.declaration import Registry
from domain.entities.query.responses import LARGEST_PAGE, LARGEST_PAGE_BYTES
from domain.errors import NotFound, ValidationError
from domain.scope import Caller

Results = list[Stored | None]
_LOCKED_AT_ONCE = 25  # rows that are loaded together, of up to 1 MiB each


@dataclass(frozen=True)
class Operations:
    database: Database[WriteTransaction]
    registry: Registry
    clock: Clock
    ids: Ids

    def read(self, caller: Caller, body: Body, ensure_may: EnsureMay) -> list[Operation]:
        """Read ``{"operations": […]}``. Raises Forbidden, and ValidationError with the errors of all operations."""
        return OperationReader(caller, self._entities, self.ids, ensure_may).read(body)

    @conflict_after_tries
    async def apply(self, write: Write, operations: Sequence[Operation]) -> WriteOutcome[Results]:
        """Write all rows or none; return each row as its operation has left it, and None for a deletion.

        Raises the first kind of failure in the order of checks, with the fields of each failure of this kind. Raises
        Conflict after too many conflicts with other transactions.
        """
        async with self.database.transaction(write.scope) as tx:
            if (replayed := await replayed_response(tx, write, Results, self.clock.now())) is not None:
                return replayed
            results = await self._results(tx, write, operations)
            return await store_response(tx, write, results, self.clock.now())

    async def _results(self, tx: WriteTransaction, write: Write, operations: Sequence[Operation]) -> Results:
        await _lock(tx, operations)
        steps = _Steps(JointWrite(tx, write, self.registry, self.clock), self.ids)
        return await steps.results(operations)

    @cached_property
    def _entities(self) -> dict[str, GuardedFields]:
        return {model.plural: GuardedFields(model, self.registry) for model in self.registry}


@dataclass(frozen=True)
class _Steps:
    """The operations of a request as parts of a joint write."""

    joint: JointWrite
    ids: Ids

    async def results(self, operations: Sequence[Operation]) -> Results:
        results: Results = []
        failed: set[UUID] = set()
        size = 0
        for run in _runs(operations):
            # Without the row of a failed operation, an operation on it would report a failure that is not its own.
            possible = [operation for operation in run if failed.isdisjoint(operation.names)]
            written = await self._written(possible) if possible else []
            if len(written) < len(run):
                failed |= {operation.id for operation in run}
                if self._may_lack_more(run[0]):
                    break
            results += written
            size += sum(len(stored.body) for stored in written if stored is not None)
            if size > LARGEST_PAGE_BYTES:
                raise ValidationError.on("operations", f"have results of more than {LARGEST_PAGE} MiB together")
        await self.joint.finish()
        return results

    def _may_lack_more(self, failed: Operation) -> bool:
        """Return whether the failed operation would have restored rows that later operations may name."""
        return failed.op == "restore" and not isinstance(self.joint.failures.found[-1][1], NotFound)

    async def _written(self, run: Sequence[Operation]) -> Results:
        """Write the rows of a run; return nothing after a failure, which the joint write has collected."""
        places, sent = [operation.place for operation in run], [operation.sent for operation in run]
        async with self.joint.part(WrittenPart(self.joint.write.caller, run[0].fields, "operations", places, sent)):
            return await self._stored(run)
        return []

    async def _stored(self, run: Sequence[Operation]) -> Results:
        first, write, writing = run[0], self.joint.write, self.joint.writing
        model, row_id, changes, version = first.model, first.id, first.changes, first.version
        match first.op:
            case "create":
                rows = [NewRow(operation.id, operation.changes.values) for operation in run]
                return [*(await writing.add(write, model, rows)).answer]
            case "update":
                change = change_of(row_id, changes.values, version, changes.kept)
                return [*(await writing.change(write, model, [change]))]
            case "delete":
                await Crud(self.joint.database, writing, self.ids).delete(write, model, row_id, version)
                return [None]
            case "restore":
                return [(await writing.restore(write, model, row_id, version)).answer]


async def _lock(tx: WriteTransaction, operations: Sequence[Operation]) -> None:
    """Lock the rows to change in one order, so that requests on the same rows wait for each other."""
    models = {operation.model.plural: operation.model for operation in operations}
    changing = [operation for operation in operations if operation.op != "create"]
    for plural in sorted(models) if len(changing) > 1 else ():
        ids = sorted({operation.id for operation in changing if operation.model.plural == plural})
        for start in range(0, len(ids), _LOCKED_AT_ONCE):
            await tx.records.current(models[plural], ids[start : start + _LOCKED_AT_ONCE])


def _runs(operations: Sequence[Operation]) -> Iterator[list[Operation]]:
    """Group consecutive creates of one entity that do not name each other, because one statement stores them."""
    run: list[Operation] = []
    for operation in operations:
        is_alike = bool(run) and operation.op == run[0].op == "create" and operation.model is run[0].model
        if run and not (is_alike and operation.names.isdisjoint(earlier.id for earlier in run)):
            yield run
            run = []
        run.append(operation)
    if run:
        yield run
