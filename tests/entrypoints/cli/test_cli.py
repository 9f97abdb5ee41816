"""The commands that do not serve, each in a process of its own."""

import json
import re
from pathlib import Path

import asyncpg
import pytest

from tests.entrypoints.processes import Tenantry, free_port

BOOKS = """
from typing import Annotated
from msgspec import Meta, Struct
from domain.entities.markers import entity, unique

@entity("books", search=["title"], unique=[unique("isbn")])
class Book(Struct, rename="camel", kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    isbn: str

ENTITIES = (Book,)
"""


def test_every_wrong_setting_is_reported_and_nothing_is_started(tenantry: Tenantry, tmp_path: Path) -> None:
    ended = tenantry("serve", PORT="eighty", WORKERS="none")
    assert ended.returncode == 2
    assert "TENANTRY_PORT got 'eighty'" in ended.stderr
    assert "TENANTRY_WORKERS got 'none'" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


def test_entities_lists_the_served_entities(tenantry: Tenantry) -> None:
    ended = tenantry("entities")
    assert ended.returncode == 0
    for line in ("Product  /api/products", "category: one of categories", "create:products", "decimal(12,2)"):
        assert line in ended.stdout


def test_entities_accepts_a_file(tenantry: Tenantry, tmp_path: Path) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    assert "Book  /api/books" in tenantry("entities", ENTITIES="books.py").stdout
    assert "Book  /api/books" in tenantry("entities", ENTITIES="books").stdout


def test_a_module_that_cannot_be_served_is_named(tenantry: Tenantry, tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    ended = tenantry("entities", ENTITIES="empty.py,broken.py,missing.py,no_such_module")
    assert ended.returncode == 2
    assert "empty.py has no ENTITIES, a tuple of the structs that it declares, and no ROUTES" in ended.stderr
    assert "broken.py cannot be imported: ZeroDivisionError: division by zero (line 1 of" in ended.stderr
    assert "missing.py is no file" in ended.stderr
    assert "no_such_module is no module that can be imported" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_two_entities_of_one_plural_are_refused(tenantry: Tenantry, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(BOOKS)
    (tmp_path / "two.py").write_text(BOOKS)
    ended = tenantry("check", ENTITIES="one.py,two.py")
    assert ended.returncode == 1
    assert "'books' is declared 2 times" in ended.stdout


ROUTES = """
from litestar import get, post
from tenantry import ORDINARY, PUBLIC, rules

@post("/api/auth/login", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def same() -> None: ...

@get("/open", opt=rules(limit=ORDINARY))
async def unguarded() -> None: ...

@get("/broken", opt=rules(policy=PUBLIC, limit=ORDINARY))
async def broken(rows: "Nothing") -> None: ...

odd = 1
"""
SERVED = """
from litestar import Controller, Router, delete, get, post, route
from tenantry import ORDINARY, PUBLIC, rules

OPEN = rules(policy=PUBLIC, limit=ORDINARY)

@get("/api/stock/{id:str}/low", opt=OPEN)
async def low(id: str) -> None: ...

@route(["/api/both", "/api/other"], http_method=["POST", "GET"], status_code=200, opt=OPEN)
async def both() -> None: ...

class Shelves(Controller):
    path = "/api/shelves"
    opt = OPEN

    @get()
    async def all(self) -> None: ...

    @delete("/last")
    async def drop(self) -> None: ...

@post(opt=OPEN)
async def lend() -> None: ...

ROUTES = (low, both, Shelves, Router("/api/lent", route_handlers=[lend]))
"""
ANOTHER_SECRET = "b7fK2-pL9_wQ4xR8tY1mN6vC3sD5gH0jZ"  # of a test


async def test_routes_that_cannot_be_served_stop_the_start(
    tenantry: Tenantry, tmp_path: Path, shared: dict[str, str]
) -> None:
    for name in ("same", "unguarded", "broken", "odd"):
        (tmp_path / f"{name}.py").write_text(f"{ROUTES}ROUTES = ({name},)\n")
    assert tenantry("migrate", **shared).returncode == 0
    for file, said in (
        ("same.py", "POST /api/auth/login is served twice"),
        ("unguarded.py", "unguarded.py: ROUTES: unguarded states no policy or no limit"),
        ("broken.py", "ROUTES cannot be served: NameError"),
        ("odd.py", "odd.py: ROUTES holds 1, which is no Litestar handler"),
    ):
        checked = tenantry("check", **shared, ENTITIES=f"tenantry.catalogue,{file}")
        assert checked.returncode == 1
        assert said in checked.stdout
        assert "Traceback" not in checked.stderr
    served = tenantry("serve", **shared, ENTITIES="tenantry.catalogue,unguarded.py", PORT=str(free_port()))
    assert served.returncode == 2
    assert "unguarded states no policy or no limit" in served.stderr
    assert "Traceback" not in served.stderr


def test_routes_of_a_project_are_listed_by_a_check(
    tenantry: Tenantry, tmp_path: Path, migrated: dict[str, str]
) -> None:
    (tmp_path / "served.py").write_text(SERVED)
    listed = (
        "GET /api/both, POST /api/both, POST /api/lent, GET /api/other, POST /api/other, GET /api/shelves,"
        " DELETE /api/shelves/last, GET /api/stock/{id}/low"
    )
    checked = tenantry("check", **migrated, ENTITIES="tenantry.catalogue,served.py")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"routes:    {listed}\n" in checked.stdout
    found = json.loads(tenantry("check", "--json", **migrated, ENTITIES="tenantry.catalogue,served.py").stdout)
    assert {"subject": "routes", "message": listed} in found["findings"]
    assert "routes:" not in tenantry("check", **migrated).stdout


async def test_a_secret_key_that_opens_no_stored_key_is_reported(tenantry: Tenantry, shared: dict[str, str]) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    assert tenantry("keys", "rotate", **shared).returncode == 0
    checked = tenantry("check", **{**shared, "SECRET_KEY": ANOTHER_SECRET})
    assert checked.returncode == 1
    assert "TENANTRY_SECRET_KEY is not the one that the stored signing keys were sealed with" in checked.stdout
    assert "Traceback" not in checked.stderr
    both = {**shared, "SECRET_KEY": ANOTHER_SECRET, "OTHER_SECRET_KEY": shared["SECRET_KEY"]}
    assert tenantry("check", **both).returncode == 0


@pytest.mark.promise("identity, passwords: a lock ends by a reset, by an administrator, by the command line")
async def test_an_operator_makes_admins_unlocks_and_rotates(tenantry: Tenantry, shared: dict[str, str]) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    made = tenantry("create-admin", "ada@example.com", "--generate", **shared)
    assert made.returncode == 0, made.stderr
    assert re.fullmatch(r"ada@example.com is a super-admin now, with the password [\w-]{20}\n", made.stdout)
    taken = tenantry("create-admin", "ADA@example.com", **shared)
    assert taken.returncode == 1
    assert "Traceback" not in taken.stderr
    assert "was not locked" in tenantry("users", "unlock", "ada@example.com", **shared).stdout
    await _lock_second_factors(shared["DATABASE_URL"], "ada@example.com")
    assert "is unlocked" in tenantry("users", "unlock", "ada@example.com", **shared).stdout
    assert "was not locked" in tenantry("users", "unlock", "ada@example.com", **shared).stdout
    assert "is published now" in tenantry("keys", "rotate", **shared).stdout


async def _lock_second_factors(url: str, email: str) -> None:
    """As five wrong codes do."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            """
            INSERT INTO login_attempts (email_key, network, failures, locks_at, locks, locked_until, tried_at)
            SELECT 'mfa:' || id, '', 5, 5, 1, now() + interval '15 minutes', now() FROM users WHERE email_key = $1""",
            email,
        )
    finally:
        await connection.close()


async def test_an_operator_cleans_up(tenantry: Tenantry, shared: dict[str, str]) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    assert tenantry("clean", **shared).stdout == "There was nothing to delete.\n"
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    try:
        await connection.execute(
            "INSERT INTO spent_ids SELECT n::text, now() - interval '2 days' FROM generate_series(1, 1200) n"
        )
        cleaned = tenantry("clean", **shared)
        assert cleaned.stdout == "Deleted: 1200 used nonces of encrypted passwords.\n", cleaned.stderr
        await connection.execute("SELECT pg_advisory_lock(hashtextextended('tenantry.housekeeping', 0))")
        assert tenantry("clean", **shared).stdout == "Another process is cleaning up just now.\n"
    finally:
        await connection.close()


@pytest.mark.parametrize("content", [b"PAR1name,sku\n", b"\0\0\0\0\x15\x04PAR1", b"name,sku\n", b""])
def test_a_file_named_parquet_with_other_content_is_reported(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "in.parquet").write_bytes(content)
    refused = tenantry("import", "products", "in.parquet", "--tenant", "system", **migrated)
    assert refused.returncode == 1
    assert refused.stderr == (
        "in.parquet is no Parquet file, or a damaged one: it does not begin and end as one. Give a file of another"
        " format another name.\n"
    )


def test_an_unreachable_database_is_reported_plainly(tenantry: Tenantry) -> None:
    ended = tenantry(
        "migrate",
        DATABASE_URL="postgresql://user:hidden@127.0.0.1:1/none",
        REDIS_URL="redis://127.0.0.1:1",
        SECRET_KEY="4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD",
    )
    assert ended.returncode == 4
    assert ended.stderr.startswith("The database of TENANTRY_DATABASE_URL does not answer (")
    assert ended.stderr.endswith(": check that its server runs, and that the URL has its host, its port and its TLS.\n")
    assert "hidden" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
