"""Writes of any number of rows, all or none."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct

from application.entities.checks.conditional_changes import needs_locked_rows, settled
from application.entities.checks.deletions import (
    ClearedReferences,
    ClearedRows,
    ensure_found,
    not_own,
    refused_clearing,
    restricted,
)
from application.entities.checks.rule_rows import RuleInput, TransactionRows
from application.ports.database import Database
from application.ports.entities.idempotency import Claim, WriteTransaction
from application.ports.entities.records import Act, Change, Current, NewRow, Restored, Stored, Versions
from application.ports.runtime import Clock
from application.retry import retry_on_conflict
from domain.entities.declaration import EntityModel, Registry
from domain.errors import (
    Conflict,
    FieldError,
    Forbidden,
    NotFound,
    NotOwn,
    PreconditionFailed,
    SerializationConflict,
    StillReferredTo,
    UnprocessableEntity,
)
from domain.scope import Caller, OneTenant, OwnRows

_RESTORED_AT_ONCE = 1_000

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class IdempotencyKey(Struct, frozen=True):
    """Idempotency-Key: requests with the same key are one request; ``fingerprint`` identifies its content."""

    key: str
    fingerprint: str


class Write(Struct, frozen=True, kw_only=True):
    """The caller, the tenant written to, and the idempotency key if the client sent one.

    ``is_part`` marks a write inside a larger transaction, which is retried as a whole.
    """

    caller: Caller
    scope: OneTenant
    idempotency_key: IdempotencyKey | None = None
    is_part: bool = False

    def act(self, now: datetime) -> Act:
        return Act(self.caller.user_id, now)


@dataclass(frozen=True)
class WriteOutcome(Generic[R]):
    """Result of a write; ``is_replayed`` marks the response to an earlier request, and nothing was written now."""

    answer: R
    is_replayed: bool = False


def conflict_after_tries(use_case: Callable[P, Coroutine[Any, Any, R]]) -> Callable[P, Coroutine[Any, Any, R]]:
    """Retry a use case after conflicts. Raises Conflict after too many: the cause of the last one, if it is known."""
    repeated = retry_on_conflict(use_case)

    @wraps(use_case)
    async def attempt(*args: P.args, **named: P.kwargs) -> R:
        try:
            return await repeated(*args, **named)
        except SerializationConflict as error:
            again = Conflict("Other requests are changing the same rows: try again.")
            raise (error.__cause__ if isinstance(error.__cause__, Conflict) else again) from None

    return attempt


def stores_rows(
    method: Callable[Concatenate[S, Write, EntityModel, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[S, Write, EntityModel, P], Coroutine[Any, Any, R]]:
    """Make a method check the caller's write permission, and retry it after conflicts.

    Raises Forbidden for rows shared by all tenants, unless the caller is a super-admin, and Conflict after too many
    conflicts.
    """
    repeated = conflict_after_tries(method)

    @wraps(method)
    async def write_rows(of: S, write: Write, model: EntityModel, /, *args: P.args, **named: P.kwargs) -> R:
        if not model.tenant_owned and not write.caller.is_super_admin:
            raise Forbidden
        return await (method if write.is_part else repeated)(of, write, model, *args, **named)

    return write_rows


@dataclass(frozen=True)
class RowWriter:
    """Writer of rows: all given rows, or none. The permission was checked before.

    | Write | Way |
    |---|---|
    | Add rows that satisfy their rule | one statement |
    | Change one row that satisfies its rule, at the wanted version | one read if there is a rule, one statement |
    | Change rows without a rule | one statement |
    | Change several rows with a rule | one transaction |
    | Add or change with an idempotency key, a rule on other rows, or conditions; change links | one transaction |
    | Add or change where a rule refuses or a version differs | one transaction, to find the error to report |
    | Remove one row of an entity with soft delete, to which no entity refers | one statement |
    | Remove other rows, or at a wanted version; restore or purge | one transaction |

    The statement that writes rows also writes their history.
    """

    database: Database[WriteTransaction]
    registry: Registry
    clock: Clock

    @stores_rows
    async def add(self, write: Write, model: EntityModel, rows: Sequence[NewRow]) -> WriteOutcome[list[Stored]]:
        if _is_one_statement(write, model) and not any(model.broken_rules(row.values, None) for row in rows):
            async with self.database.autocommit(write.scope) as tx:
                return WriteOutcome(await tx.records.add(model, rows, write.act(self.clock.now())))
        async with self.database.transaction(write.scope) as tx:
            if (replayed := await replayed_response(tx, write, list[Stored], self.clock.now())) is not None:
                return replayed
            stored = await tx.records.add(model, rows, write.act(self.clock.now()))
            # Rules come last in the specification's order of checks.
            await self._ensure_rules(tx, model, [RuleInput(row.id, row.values, None) for row in rows])
            return await store_response(tx, write, stored, self.clock.now())

    @stores_rows
    async def change(self, write: Write, model: EntityModel, changes: Sequence[Change]) -> list[Stored]:
        has_rule = model.rules_look_at(name for change in changes for name in change.values)
        has_conditions = needs_locked_rows(model, changes)
        if _is_one_statement(write, model) and not has_conditions:
            if len(changes) == 1 and (changed := await self._change_in_one_statement(write, model, changes[0])):
                return [changed]
            if not has_rule:
                async with self.database.autocommit(write.scope) as tx:
                    return await tx.records.change(model, changes, write.act(self.clock.now()))
        before: dict[UUID, Current] = {}
        async with self.database.transaction(write.scope) as tx:
            if has_rule or has_conditions:
                # Lock the rows first, because the rule and the conditions check stored values.
                before = await tx.records.current(model, [change.id for change in changes], is_bounded=True)
                changes = settled(model, changes, before)
            stored = await tx.records.change(model, changes, write.act(self.clock.now()))
            # Retry: a row that was absent before has been restored since, so its version, conditions and rule are
            # unchecked.
            if (has_rule or has_conditions) and any(change.id not in before for change in changes):
                raise SerializationConflict
            if has_rule:
                await self._ensure_rules(
                    tx, model, [_rule_input(change, before[change.id].values) for change in changes]
                )
        return stored

    async def _change_in_one_statement(self, write: Write, model: EntityModel, change: Change) -> Stored | None:
        # Optimistic: the statement compares the version that the rule checked. Return None if this fails for any
        # reason; the transaction then finds the error in the specification's order of checks.
        async with self.database.autocommit(write.scope) as tx:
            if model.rules_look_at(change.values):
                seen = (await tx.records.current(model, [change.id], locked=False)).get(change.id)
                if seen is None or change.version not in (None, seen.version):
                    return None
                if model.broken_rules({**seen.values, **change.values}, seen.values):
                    return None
                change = Change(change.id, change.values, seen.version)
            try:
                (stored,) = await tx.records.change(model, [change], write.act(self.clock.now()))
            except PreconditionFailed:
                return None
        return stored

    @stores_rows
    async def remove(
        self, write: Write, model: EntityModel, ids: Sequence[UUID], version: Versions
    ) -> WriteOutcome[list[UUID]]:
        """Delete all rows or none. Raises NotFound naming each missing id as ``ids[2]``."""
        if version is None and len(ids) == 1 and self._is_removed_in_one_statement(write, model):
            async with self.database.autocommit(write.scope) as tx:
                removed = await tx.records.remove(model, ids, write.act(self.clock.now()), version)
            ensure_found(ids, removed)
            return WriteOutcome(removed)
        async with self.database.transaction(write.scope) as tx:
            if (replayed := await replayed_response(tx, write, list[UUID], self.clock.now())) is not None:
                return replayed
            cleared = await self._cleared_by(tx, model, ids)
            try:
                removed = await tx.records.remove(model, ids, write.act(self.clock.now()), version)
            except NotOwn as error:
                ensure_found(ids, error.found)
                raise not_own(ids, error) from None
            except StillReferredTo as error:
                ensure_found(ids, error.found)
                raise restricted(write.caller, self.registry, ids, error) from None
            # If a row is missing, the exception rolls back the deletion of the others. Rules see invisible rows.
            ensure_found(ids, removed)
            await self._ensure_cleared(tx, write.caller, cleared)
            return await store_response(tx, write, removed, self.clock.now())

    @stores_rows
    async def restore(self, write: Write, model: EntityModel, row_id: UUID, version: Versions) -> WriteOutcome[Stored]:
        async with self.database.transaction(write.scope) as tx:
            if (replayed := await replayed_response(tx, write, Stored, self.clock.now())) is not None:
                return replayed
            restored = await tx.records.restore(model, row_id, write.act(self.clock.now()), version)
            await self._ensure_restored(tx, write.caller, model, restored)
            answer = Stored(restored.id, restored.version, restored.body)
            return await store_response(tx, write, answer, self.clock.now())

    @stores_rows
    async def purge(self, write: Write, model: EntityModel, row_id: UUID, version: Versions) -> None:
        async with self.database.transaction(write.scope) as tx:
            cleared = await self._cleared_by(tx, model, [row_id])
            try:
                if not await tx.records.purge(model, [row_id], write.act(self.clock.now()), version):
                    raise NotFound
            except StillReferredTo as error:
                raise restricted(write.caller, self.registry, [row_id], error) from None
            await self._ensure_cleared(tx, write.caller, cleared)

    async def _ensure_rules(self, tx: WriteTransaction, model: EntityModel, inputs: Sequence[RuleInput]) -> None:
        # A tenant's rule must not block other tenants' writes. Writers of shared rows may block all.
        others = TransactionRows(tx.whole_records, self.registry, shares=model.tenant_owned)
        broken: list[FieldError] = []
        for number, row in enumerate(inputs):
            errors = model.broken_rules(row.values, row.before)
            if model.asks_other_rows:
                errors += await others.broken_rules(model, row)
            broken += [_of_item(number, error) if len(inputs) > 1 else error for error in errors]
        if broken:
            raise UnprocessableEntity(fields=broken)

    def _is_removed_in_one_statement(self, write: Write, model: EntityModel) -> bool:
        """Return whether no other row and no limit to own rows can refuse the deletion of a row, or change with it."""
        is_marked = model.declaration.soft_delete and not self.registry.is_referred_to(model.plural)
        return is_marked and write.idempotency_key is None and not isinstance(write.scope, OwnRows)

    async def _cleared_by(self, tx: WriteTransaction, model: EntityModel, ids: Sequence[UUID]) -> ClearedRows:
        return await ClearedReferences(tx.whole_records, self.registry).find(model, ids)

    async def _ensure_cleared(self, tx: WriteTransaction, caller: Caller, cleared: ClearedRows) -> None:
        for model, before in cleared:
            # Read again: the row may be deleted, and then needs no rule.
            after = await tx.whole_records.current(model, list(before))
            inputs = [RuleInput(row_id, row.values, before[row_id].values) for row_id, row in after.items()]
            await self._ensure_rules_of_others(tx, caller, model, inputs)

    async def _ensure_restored(
        self, tx: WriteTransaction, caller: Caller, model: EntityModel, restored: Restored
    ) -> None:
        """Check the rules of restored rows again, because other rows may have changed."""
        if model.has_rule:
            rows = await tx.whole_records.current(model, [restored.id])
            await self._ensure_rules(
                tx, model, [RuleInput(row_id, row.values, row.values) for row_id, row in rows.items()]
            )
        for plural, ids in restored.along:
            other = self.registry[plural]
            for start in range(0, len(ids) if other.has_rule else 0, _RESTORED_AT_ONCE):
                rows = await tx.whole_records.current(other, ids[start : start + _RESTORED_AT_ONCE])
                inputs = [RuleInput(row_id, row.values, row.values) for row_id, row in rows.items()]
                await self._ensure_rules_of_others(tx, caller, other, inputs)

    async def _ensure_rules_of_others(
        self, tx: WriteTransaction, caller: Caller, model: EntityModel, inputs: Sequence[RuleInput]
    ) -> None:
        """Check the rules of rows that the caller did not name; errors show only fields that the caller may read."""
        try:
            await self._ensure_rules(tx, model, inputs)
        except UnprocessableEntity as error:
            raise UnprocessableEntity(fields=refused_clearing(caller, self.registry, model, error)) from None


def _is_one_statement(write: Write, model: EntityModel) -> bool:
    # Without an idempotency key and rules on other rows, a single statement is enough, and saves two round trips.
    return write.idempotency_key is None and not model.asks_other_rows


async def replayed_response(tx: WriteTransaction, write: Write, kind: type[R], now: datetime) -> WriteOutcome[R] | None:
    """Return the response to the first request with the idempotency key, or None.

    Raises UnprocessableEntity if the first request was different.
    """
    if write.idempotency_key is None:
        return None
    stored = await tx.answers.claim(_claim(write, write.idempotency_key), now)
    if stored is None:
        return None
    # Reject another request under the same key.
    if stored.fingerprint != write.idempotency_key.fingerprint:
        raise UnprocessableEntity("Another request was made under this Idempotency-Key.")
    return WriteOutcome(msgspec.json.decode(stored.answer, type=kind), is_replayed=True)


async def store_response(tx: WriteTransaction, write: Write, answer: R, now: datetime) -> WriteOutcome[R]:
    """Store the response under the idempotency key, if any, and return it."""
    if write.idempotency_key is not None:
        await tx.answers.keep(_claim(write, write.idempotency_key), msgspec.json.encode(answer), now)
    return WriteOutcome(answer)


def _claim(write: Write, idempotency_key: IdempotencyKey) -> Claim:
    return Claim(
        tenant_id=write.scope.id,
        user_id=write.caller.user_id,
        key=idempotency_key.key,
        fingerprint=idempotency_key.fingerprint,
    )


def _rule_input(change: Change, before: Mapping[str, object]) -> RuleInput:
    return RuleInput(change.id, {**before, **change.values}, before)


def _of_item(number: int, error: FieldError) -> FieldError:
    return FieldError(f"items[{number}].{error.field}", error.message)
