"""Statements whose text never varies: one literal each, which fits the schema that the migrations make."""

from pathlib import Path

import asyncpg
import pytest

from tests.adapters.postgres.sql_sources import Literal, literals, pieced, sources

FOLDERS = ("",)
"""Folders of adapters/postgres in which no SQL is pieced together from strings; ``""`` stands for all of them."""

TEMPORARY = '"tenantry incoming"'
"""Table of a running import: statements on it cannot be prepared before the import has created it."""

SOURCES = sources(*FOLDERS)
LITERALS = [literal for path in SOURCES for literal in literals(path) if TEMPORARY not in literal.text]


def test_the_statements_are_found() -> None:
    assert len(LITERALS) > 60


@pytest.mark.parametrize("literal", LITERALS, ids=str)
async def test_the_server_accepts_each_literal(owner: "asyncpg.Connection[asyncpg.Record]", literal: Literal) -> None:
    """Preparing looks up tables, columns, types and conflict targets, and runs nothing."""
    await owner.prepare(literal.text)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_sql_is_pieced_together(path: Path) -> None:
    assert pieced(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        'f"SELECT {columns} FROM users"',
        'f"{select} WHERE id = $1"',
        '"SELECT id FROM " + table',
        'select + " ORDER BY id"',
        '"SELECT %s FROM users" % columns',
        '"SELECT {} FROM users".format(columns)',
        '" ORDER BY ".join(parts)',
        '_LIST.replace("x", y) or "FROM users".replace("users", table)',
        'text(f"{name} DESC")',
        'sa.text(name + " DESC")',
        'literal_column(f"lower({name})")',
        'literal_column(without_case("name"))',
        'connection.fetch(f"{statement}")',
        "connection.execute(statement + condition)",
        'connection.fetchval("".join(parts))',
        '" AND ".join(conditions)',
    ],
)
def test_pieces_are_found(source: str) -> None:
    assert pieced(source)


@pytest.mark.parametrize(
    "source",
    [
        '_ALL = "SELECT id FROM users"',
        "connection.fetch(_ALL, tenant_id)",
        "connection.fetch(STATEMENTS[rule], before)",
        "connection.fetch(statement.text, *statement.arguments(values))",
        'literal_column("last_login_at DESC")',
        "connection.execute(text(_LOCK))",
        'raise ValueError(f"takes {shortest} to {longest} characters")',
        '", ".join(names)',
    ],
)
def test_constants_and_core_pass(source: str) -> None:
    assert pieced(source) == []


@pytest.mark.parametrize("statement", ["SELECT nothing FROM users", "SELECT id FROM nowhere"])
async def test_a_renamed_column_fails(owner: "asyncpg.Connection[asyncpg.Record]", statement: str) -> None:
    with pytest.raises((asyncpg.UndefinedColumnError, asyncpg.UndefinedTableError)):
        await owner.prepare(statement)
