"""From an entity to something to select from: the only place that says whose rows are read, and which."""

from msgspec import Struct

from adapters.postgres.entities.reading.json import quoted
from adapters.postgres.schema.sql import is_soft
from domain.entities.declaration import EntityModel, Relation
from domain.scope import OneTenant, Scope


class Reach(Struct, frozen=True):
    """As much of a scope as a statement's text depends on."""

    is_every: bool

    @classmethod
    def of(cls, scope: Scope) -> "Reach":
        return cls(not isinstance(scope, OneTenant))

    def takes_tenant(self, model: EntityModel) -> bool:
        """Whether a statement on its rows has the tenant as the first parameter."""
        return model.tenant_owned and not self.is_every


class RowSource(Struct, frozen=True):
    """Goes into FROM as ``text``, and needs all of ``conditions``."""

    text: str
    conditions: tuple[str, ...]

    @property
    def on(self) -> str:
        return " AND ".join(self.conditions) or "true"


def rows_of(model: EntityModel, alias: str, reach: Reach, *, include_deleted: bool = False) -> RowSource:
    """Those of the scope's tenant, which is the first parameter; the living ones unless the deleted are meant too."""
    tenant = [f"{alias}.tenant_id = $1"] if reach.takes_tenant(model) else []
    return RowSource(_named(model, alias), (*tenant, *(() if include_deleted else _living(model, alias))))


def related_rows(relation: Relation, target: EntityModel, aliases: tuple[str, str], reach: Reach) -> RowSource:
    """The living rows that a row is related to, of its own tenant; ``aliases`` are that row's and theirs."""
    near, far = aliases
    link = (
        f"{far}.{quoted(relation.by)} = {near}.id" if relation.is_many else f"{far}.id = {near}.{quoted(relation.by)}"
    )
    rows = rows_of(target, far, reach)
    tenant = (f"{far}.tenant_id = {near}.tenant_id",) if reach.is_every and target.tenant_owned else ()
    return RowSource(rows.text, (*rows.conditions, *tenant, link))


def _named(model: EntityModel, alias: str) -> str:
    return f"{quoted(model.table)} {alias}"


def _living(model: EntityModel, alias: str) -> tuple[str, ...]:
    return (f"NOT {alias}.is_deleted",) if is_soft(model) else ()
