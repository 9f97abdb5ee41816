"""A SQLAlchemy Core statement as the text that asyncpg runs, with the order of its parameters."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from msgspec import Struct
from sqlalchemy.dialects.postgresql import asyncpg
from sqlalchemy.sql.base import Executable

# SQLAlchemy shortens labels from 6 characters below this length on, and then refers to columns that do not exist:
# 69 leaves every name alone that PostgreSQL itself takes.
_DIALECT = asyncpg.dialect(label_length=69)  # type: ignore[no-untyped-call]


class CompiledStatement(Struct, frozen=True):
    """A statement as the text that asyncpg runs.

    ``parameters`` are names: the first is that of ``$1``.
    """

    text: str
    parameters: tuple[str, ...]

    def arguments(self, values: Mapping[str, Any]) -> list[Any]:
        """Values in the order of the parameters; ``values`` may hold more names than the statement uses."""
        return [values[name] for name in self.parameters]


def compiled(statement: Executable) -> CompiledStatement:
    """Compiles for asyncpg. With building takes 1 to 10 ms: callers remember the outcome by the statement's shape."""
    # render_postcompile writes constants into the text now, and not when the statement is executed
    made = statement.compile(dialect=_DIALECT, compile_kwargs={"render_postcompile": True})  # type: ignore[attr-defined]
    return CompiledStatement(made.string, tuple(made.positiontup or ()))


def explained(statement: CompiledStatement) -> CompiledStatement:
    """Answers the plan as JSON, with the estimates of the server, and reads no row."""
    return CompiledStatement("EXPLAIN (FORMAT JSON) " + statement.text, statement.parameters)


def parameter(name: str, kind: sa.types.TypeEngine[Any]) -> sa.BindParameter[Any]:
    """A value that is given when the statement runs. A name used twice is one parameter.

    ``kind`` becomes the cast in the text: ``$1::UUID``.
    """
    return sa.bindparam(name, type_=kind, required=False)  # a required one cannot be compiled without a value


def constant(value: object, kind: sa.types.TypeEngine[Any] | None = None) -> sa.BindParameter[Any]:
    """A value that is part of the text, such as a limit or a wire name. SQLAlchemy quotes it."""
    return sa.literal(value, type_=kind, literal_execute=True)
