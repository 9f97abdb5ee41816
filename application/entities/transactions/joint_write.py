"""Writes of several parts in one transaction: rules on other rows wait for the last part."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import UUID

from msgspec.structs import replace

from application.entities.checks.deletions import refused_clearing
from application.entities.checks.rule_rows import RuleInput, TransactionRows
from application.entities.own_transactions import OpenTransaction
from application.entities.transactions.parts import FAILURES, PartFailures, WrittenPart
from application.entities.writing import RowWriter, Write
from application.ports.entities.idempotency import WriteTransaction
from application.ports.entities.records import Values
from application.ports.runtime import Clock
from domain.entities.declaration import EntityModel, Registry
from domain.errors import UnprocessableEntity
from domain.scope import Caller

_CHECKED_AT_ONCE = 1_000


@dataclass(frozen=True)
class _Waiting:
    """A written row for its ``check_stored``. ``is_named``: the caller named the row, so may see its errors."""

    part: WrittenPart
    model: EntityModel
    before: Values | None
    is_named: bool


@dataclass
class CollectedRules:
    """Rules of the rows that the parts write: ``check`` runs with its part, ``check_stored`` after the last one."""

    tx: WriteTransaction
    registry: Registry
    failures: PartFailures = field(default_factory=PartFailures)
    part: WrittenPart | None = None
    _waiting: dict[tuple[str, UUID], _Waiting] = field(default_factory=dict)

    def add(self, model: EntityModel, inputs: Sequence[RuleInput], *, are_named: bool) -> None:
        part = self.part
        assert part is not None, "a rule runs within a part"
        for number, row in enumerate(inputs):
            of_row = part.row(number if are_named else 0)
            if broken := model.broken_rules(row.values, row.before):
                self._refuse(_Waiting(of_row, model, None, are_named), UnprocessableEntity(fields=broken))
            if model.asks_other_rows:
                known = self._waiting.get((model.plural, row.id))
                before = row.before if known is None else known.before
                self._waiting[model.plural, row.id] = _Waiting(of_row, model, before, are_named)

    async def check_stored(self) -> None:
        """Check the written rows that still exist, in their final state."""
        by_model: dict[EntityModel, list[UUID]] = {}
        for (_, row_id), waiting in self._waiting.items():
            by_model.setdefault(waiting.model, []).append(row_id)
        for model, ids in by_model.items():
            # A tenant's rule must not block other tenants' writes. Writers of shared rows may block all.
            others = TransactionRows(self.tx.whole_records, self.registry, shares=model.tenant_owned)
            for start in range(0, len(ids), _CHECKED_AT_ONCE):
                rows = await self.tx.whole_records.current(model, ids[start : start + _CHECKED_AT_ONCE])
                for row_id, row in rows.items():
                    waiting = self._waiting[model.plural, row_id]
                    broken = await others.broken_rules(model, RuleInput(row_id, row.values, waiting.before))
                    if broken:
                        self._refuse(waiting, UnprocessableEntity(fields=broken))

    def _refuse(self, waiting: _Waiting, error: UnprocessableEntity) -> None:
        if not waiting.is_named:
            shown = refused_clearing(waiting.part.caller, self.registry, waiting.model, error)
            error = UnprocessableEntity(fields=shown)
        self.failures.add(waiting.part, error)


@dataclass(frozen=True)
class CollectingWriter(RowWriter):
    """Writer of the parts of a transaction: it collects the inputs of rules, so a broken rule does not end a part."""

    rules: CollectedRules

    async def _ensure_rules(
        self,
        tx: WriteTransaction,  # noqa: ARG002  # the rules have it
        model: EntityModel,
        inputs: Sequence[RuleInput],
    ) -> None:
        self.rules.add(model, inputs, are_named=True)

    async def _ensure_rules_of_others(
        self,
        tx: WriteTransaction,  # noqa: ARG002  # the rules have it
        caller: Caller,  # noqa: ARG002  # the part has it
        model: EntityModel,
        inputs: Sequence[RuleInput],
    ) -> None:
        self.rules.add(model, inputs, are_named=False)


class JointWrite:
    """One attempt to write all parts of a request in a transaction."""

    def __init__(self, tx: WriteTransaction, write: Write, registry: Registry, clock: Clock) -> None:
        self._rules = CollectedRules(tx, registry)
        self.failures = self._rules.failures
        self.database = OpenTransaction(lambda: tx)
        self.writing = CollectingWriter(self.database, registry, clock, self._rules)
        self.write = replace(write, idempotency_key=None, is_part=True)

    @asynccontextmanager
    async def part(self, part: WrittenPart) -> AsyncIterator[None]:
        """Write the rows of a part in the block; its failure is collected, and undoes what the part has written."""
        self._rules.part = part
        try:
            yield
        except FAILURES as error:
            self.failures.add(part, error)

    async def finish(self) -> None:
        """Check the rules on other rows. Raises the failures of all parts."""
        if self.failures.are_of_rules:
            await self._rules.check_stored()
        self.failures.ensure_none()
