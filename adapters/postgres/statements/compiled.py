"""A SQLAlchemy Core statement as text for asyncpg, with the order of its parameters."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import asyncpg
from sqlalchemy.sql.base import Executable

# SQLAlchemy shortens labels from 6 characters below this length, and then refers to missing columns. 69 leaves all
# valid PostgreSQL names unchanged.
_DIALECT = asyncpg.dialect(label_length=69)  # type: ignore[no-untyped-call]


class CompiledStatement(Struct, frozen=True):
    """A statement as text for asyncpg.

    ``parameters`` are the parameter names in order: the first is the name of ``$1``.
    """

    text: str
    parameters: tuple[str, ...]

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Return the values in the order of the parameters; ignore further names in ``values``."""
        return [values[name] for name in self.parameters]


def compiled(statement: Executable) -> CompiledStatement:
    """Compile for asyncpg. Building and compiling need 1 to 10 ms, so callers cache the result by statement shape."""
    # render_postcompile writes constants into the text now instead of at execution.
    made = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})  # type: ignore[attr-defined]
    return CompiledStatement(made.string, tuple(made.positiontup or ()))


def explained(statement: CompiledStatement) -> CompiledStatement:
    """Return the plan as JSON, with the server's estimates, without reading rows."""
    return CompiledStatement("EXPLAIN (FORMAT JSON) " + statement.text, statement.parameters)


def parameter(name: str, kind: sa.types.TypeEngine[Any]) -> sa.BindParameter[Any]:
    """Return a value given when the statement runs. A name used twice is one parameter.

    ``kind`` becomes the cast in the text: ``$1::UUID``.
    """
    # SQLAlchemy cannot compile a required parameter without a value
    return sa.bindparam(name, type_=kind, required=False)


def constant(value: object, kind: sa.types.TypeEngine[Any] | None = None) -> sa.BindParameter[Any]:
    """Return a value in the statement's text, such as a limit or a JSON name. SQLAlchemy quotes it."""
    return sa.literal(value, type_=kind, literal_execute=True)
