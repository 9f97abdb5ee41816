"""The state of the memory database, and the interface by which adapters reach it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Protocol

from adapters.memory.entities.state import EntityState
from adapters.memory.identity.factors.state import FactorState
from adapters.memory.identity.joining.state import JoiningState
from adapters.memory.identity.service_accounts.state import ServiceAccountState
from adapters.memory.identity.state import IdentityState
from adapters.memory.operations.state import OperationState
from application.ports.runtime import Ids
from domain.entities.declaration import Registry
from domain.retention import RetentionRule
from domain.scope import Scope


@dataclass(kw_only=True)
class Store(IdentityState, JoiningState, FactorState, ServiceAccountState, EntityState, OperationState):
    """Dictionaries of values that are replaced, never changed."""

    def copy(self) -> "Store":
        # Two levels are enough: values and rows are replaced, never changed.
        names = [attribute.name for attribute in fields(self) if attribute.name != "tables"]
        plain = {name: dict(getattr(self, name)) for name in names}
        return Store(**plain, tables={name: dict(rows) for name, rows in self.tables.items()})

    def become(self, other: "Store") -> None:
        """Takes the dictionaries of the other state, whoever holds this one."""
        for attribute in fields(self):
            setattr(self, attribute.name, getattr(other, attribute.name))


Retained = Mapping[RetentionRule, Callable[[Store], tuple[dict[Any, Any], dict[Any, datetime | None]]]]
"""Entries of each rule, and the time that counts for each by its key; None, or none, for entries that stay."""


class Access(Protocol):
    """State as a statement sees it: that of a transaction, or the committed one."""

    def read(self) -> Store: ...

    def lock(self) -> Store:
        """The state for a statement that locks rows, which a read-only connection refuses. Nobody is locked out here:
        transactions run one after the other."""
        ...

    def write(self) -> AbstractAsyncContextManager[Store]:
        """The state to change; an exception undoes the changes."""
        ...


@dataclass(frozen=True)
class MemoryContext:
    """State and scope of a transaction, from which each part makes its ports."""

    access: Access
    scope: Scope
    registry: Registry
    ids: Ids
