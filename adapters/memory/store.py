"""State of the memory database, and the adapters' interface to it."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Protocol

from adapters.memory.entities.state import EntityState
from adapters.memory.entities.webhooks.state import WebhookState
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
class Store(IdentityState, JoiningState, FactorState, ServiceAccountState, EntityState, WebhookState, OperationState):
    """Dictionaries of values; values are replaced, never mutated."""

    def copy(self) -> "Store":
        # Two levels suffice: values and rows are replaced, never changed.
        names = [attribute.name for attribute in fields(self) if attribute.name != "tables"]
        plain = {name: dict(getattr(self, name)) for name in names}
        return Store(**plain, tables={name: dict(rows) for name, rows in self.tables.items()})

    def become(self, other: "Store") -> None:
        """Replace the content by the dictionaries of ``other``, for all holders of this state."""
        for attribute in fields(self):
            setattr(self, attribute.name, getattr(other, attribute.name))


Retained = Mapping[RetentionRule, Callable[[Store], tuple[dict[Any, Any], dict[Any, datetime | None]]]]
"""For each rule: its entries, and by key the time that the rule compares. Entries without a time, or with None, are not
removed.
"""


class Access(Protocol):
    """State as a statement sees it: the transaction's, or the committed one."""

    def read(self) -> Store: ...

    def lock(self) -> Store:
        """Return the state for a statement that locks rows. Raises an error on a read-only connection.

        Transactions run one after another, so no lock is needed.
        """
        ...

    def write(self) -> AbstractAsyncContextManager[Store]:
        """Yield the state to change; an exception undoes the changes."""
        ...


@dataclass(frozen=True)
class MemoryContext:
    """State and scope of a transaction, from which each part creates its ports."""

    access: Access
    scope: Scope
    registry: Registry
    ids: Ids
