"""The commands that do not serve, each in a process of its own."""

import re
import stat
from pathlib import Path

import asyncpg

from tests.entrypoints.processes import Tenantry, free_port

BOOKS = """
from typing import Annotated
from msgspec import Meta, Struct
from domain.entities.declaration import entity, unique

@entity("books", search=["title"], unique=[unique("isbn")])
class Book(Struct, rename="camel", kw_only=True):
    title: Annotated[str, Meta(min_length=1, max_length=200)]
    isbn: str

ENTITIES = (Book,)
"""


def test_every_wrong_setting_is_told_and_nothing_is_started(tenantry: Tenantry, tmp_path: Path) -> None:
    ended = tenantry("serve", PORT="eighty", WORKERS="none")
    assert ended.returncode == 2
    assert "TENANTRY_PORT got 'eighty'" in ended.stderr
    assert "TENANTRY_WORKERS got 'none'" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not list(tmp_path.iterdir())


def test_entities_says_what_is_served(tenantry: Tenantry) -> None:
    ended = tenantry("entities")
    assert ended.returncode == 0
    for line in ("Product  /api/products", "category: one of categories", "create:products", "decimal(12,2)"):
        assert line in ended.stdout


def test_entities_takes_a_file(tenantry: Tenantry, tmp_path: Path) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    assert "Book  /api/books" in tenantry("entities", ENTITIES="books.py").stdout
    assert "Book  /api/books" in tenantry("entities", ENTITIES="books").stdout


def test_a_module_that_cannot_be_served_is_named(tenantry: Tenantry, tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    ended = tenantry("entities", ENTITIES="empty.py,broken.py,missing.py,no_such_module")
    assert ended.returncode == 2
    assert "empty.py has no ENTITIES" in ended.stderr
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
ENTITIES = ()
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
        ("unguarded.py", "unguarded states no policy or no limit"),
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


def test_migrations_that_clash_are_named(tenantry: Tenantry, tmp_path: Path) -> None:
    (tmp_path / "books.py").write_text("ENTITIES = ()\n")
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "0031_mine.py").write_text('revision = "0031"\ndown_revision = None\n')
    (tmp_path / "migrations" / "0099_lost.py").write_text('revision = "0099"\ndown_revision = "0098"\n')
    own = {"ENTITIES": "tenantry.catalogue,books.py"}
    for ended in (tenantry("migrate", **own), tenantry("serve", **own, PORT=str(free_port()))):
        assert ended.returncode == 5, ended.stderr
        assert "The revision 0031 is in " in ended.stderr
        assert "0031_users_in_order.py and in " in ended.stderr
        assert "0099_lost.py follows 0098, which is in no file." in ended.stderr
        assert "Give your own migration another revision" in ended.stderr
        assert "Traceback" not in ended.stderr
    checked = tenantry("check", **own)
    assert checked.returncode == 1
    assert "The migrations do not fit together" in checked.stdout


def test_an_empty_database_is_told_from_a_broken_one(tenantry: Tenantry, shared: dict[str, str]) -> None:
    checked = tenantry("check", **shared)
    assert checked.returncode == 1
    assert "Run: tenantry migrate" in checked.stdout
    assert "Traceback" not in checked.stderr


def test_a_fresh_folder_is_checked_migrated_and_checked_again(tenantry: Tenantry, tmp_path: Path) -> None:
    pending = tenantry("check")
    assert pending.returncode == 1
    assert "Run: tenantry migrate" in pending.stdout
    migrated = tenantry("migrate")
    assert migrated.stdout.startswith("Applied the migrations up to 00"), migrated.stderr
    assert migrated.stdout.endswith(". The database is up to date.\n")
    assert tenantry("migrate").stdout == "The database is up to date.\n"
    current = tenantry("check")
    assert current.returncode == 0, current.stdout + current.stderr
    key = tmp_path / ".data" / "secret.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert not (tmp_path / ".data" / "run.json").exists()


async def test_a_migration_is_written_read_and_then_applied(
    tenantry: Tenantry, tmp_path: Path, shared: dict[str, str]
) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    mine = {**shared, "ENTITIES": "tenantry.catalogue,books.py"}
    refused = tenantry("serve", **mine, PORT=str(free_port()))
    assert refused.returncode == 5, refused.stderr
    assert 'tenantry migrate --write "' in refused.stderr
    written = tenantry("migrate", "--write", "add books", **mine)
    assert written.returncode == 0, written.stderr
    (file,) = (tmp_path / "migrations").glob("*.py")
    assert file.name.partition("_")[2] == "add_books.py"
    assert file.read_text() in written.stdout
    assert f"Wrote {file}, and applied nothing." in written.stdout
    assert "Then apply it: tenantry migrate" in written.stdout
    assert tenantry("migrate", "--check", **mine).returncode == 5
    sql = tenantry("migrate", "--sql", **mine)
    assert "CREATE TABLE books (" in sql.stdout, sql.stderr
    assert "CREATE TABLE users" not in sql.stdout
    assert tenantry("migrate", "--check", **mine).returncode == 5
    applied = f"Applied the migrations up to {file.name.partition('_')[0]}. The database is up to date.\n"
    assert tenantry("migrate", **mine).stdout == applied
    assert tenantry("migrate", "--check", **mine).returncode == 0
    assert tenantry("migrate", "--sql", **mine).stdout == "-- The database is up to date: nothing is pending.\n"
    again = tenantry("migrate", "--write", "nothing", **mine)
    assert "there is nothing to write" in again.stdout


async def test_the_sql_of_an_empty_database_makes_it(tenantry: Tenantry, shared: dict[str, str]) -> None:
    sql = tenantry("migrate", "--sql", **shared)
    assert sql.returncode == 0, sql.stderr
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    try:
        # As psql does: an index that is built beside writes stands between two transactions.
        for part in re.split(r"^(?:BEGIN|COMMIT);$", sql.stdout, flags=re.MULTILINE):
            if re.sub("--.*", "", part).strip():
                await connection.execute(part)
    finally:
        await connection.close()
    assert "is what the entities declare" in tenantry("migrations", "check", **shared).stdout


async def test_a_secret_key_that_opens_no_stored_key_is_told(tenantry: Tenantry, shared: dict[str, str]) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    assert tenantry("keys", "rotate", **shared).returncode == 0
    checked = tenantry("check", **{**shared, "SECRET_KEY": ANOTHER_SECRET})
    assert checked.returncode == 1
    assert "TENANTRY_SECRET_KEY is not the one that the stored signing keys were sealed with" in checked.stdout
    assert "Traceback" not in checked.stderr
    both = {**shared, "SECRET_KEY": ANOTHER_SECRET, "OTHER_SECRET_KEY": shared["SECRET_KEY"]}
    assert tenantry("check", **both).returncode == 0


async def test_check_says_to_write_what_no_migration_makes_and_then_to_apply_it(
    tenantry: Tenantry, tmp_path: Path, migrated: dict[str, str]
) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    mine = {**migrated, "ENTITIES": "tenantry.catalogue,books.py"}
    checked = tenantry("check", **mine).stdout
    assert "Book: no migration makes the table books." in checked
    assert 'Run: tenantry migrate --write "what has changed", read the file, then: tenantry migrate' in checked
    refused = tenantry("serve", **mine, MIGRATE="off", PORT=str(free_port())).stderr
    assert "then: tenantry migrate (TENANTRY_MIGRATE is off)." in refused
    assert tenantry("migrate", "--write", "add books", **mine).returncode == 0
    assert "Run: tenantry migrate\n" in f"{tenantry('check', **mine).stdout}\n"


async def test_options_that_exclude_each_other_are_refused(tenantry: Tenantry) -> None:
    assert "exclude each other" in tenantry("migrate", "--write", "x", "--sql").stderr
    assert "--rename belongs to --write" in tenantry("migrate", "--rename", "a=b").stderr


async def test_a_file_that_waits_for_a_decision_stops_the_start_and_is_taken_back(
    tenantry: Tenantry, tmp_path: Path, shared: dict[str, str]
) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    mine = {**shared, "ENTITIES": "tenantry.catalogue,books.py"}
    assert tenantry("migrate", "--write", "add books", **mine).returncode == 0
    assert tenantry("migrate", **mine).returncode == 0
    (tmp_path / "books.py").write_text(BOOKS.replace("isbn: str", "isbn: int"))
    written = tenantry("migrate", "--write", "isbn is a number", **mine)
    assert "Note: books.isbn becomes INTEGER from TEXT" in written.stdout, written.stderr
    for command in ("migrate", "serve"):
        ended = tenantry(command, **mine, PORT=str(free_port()))
        assert ended.returncode == 5
        assert "isbn_is_a_number.py, line " in ended.stderr
        assert "is to be filled in" in ended.stderr
        assert "Traceback" not in ended.stderr
    assert "isbn_is_a_number.py" in tenantry("migrations", "discard", **mine).stdout
    assert tenantry("migrate", "--check", **mine).returncode == 0
    assert "Undid " in tenantry("migrations", "downgrade", **mine).stdout
    assert tenantry("migrate", "--check", **mine).returncode == 5


async def test_check_counts_values_that_an_enum_does_not_know_any_more(
    tenantry: Tenantry, tmp_path: Path, shared: dict[str, str]
) -> None:
    source = BOOKS.replace("isbn: str", 'isbn: Literal["new", "old"]').replace("Annotated\n", "Annotated, Literal\n")
    (tmp_path / "books.py").write_text(source)
    mine = {**shared, "ENTITIES": "tenantry.catalogue,books.py"}
    assert tenantry("migrate", "--write", "add books", **mine).returncode == 0
    assert tenantry("migrate", **mine).returncode == 0
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    await connection.execute(
        "INSERT INTO books (tenant_id, id, version, created_at, updated_at, title, isbn)"
        " VALUES (gen_random_uuid(), gen_random_uuid(), 1, now(), now(), 'a', 'old')"
    )
    await connection.close()
    (tmp_path / "books.py").write_text(source.replace(', "old"', ""))
    for command in (("check",), ("migrations", "check")):
        checked = tenantry(*command, **mine)
        said = checked.stdout + checked.stderr
        assert "books.isbn has values that its enum does not know: 'old' in 1 row." in said
        assert "Traceback" not in said


async def test_files_that_are_named_no_more_are_told_with_the_setting(
    tenantry: Tenantry, tmp_path: Path, shared: dict[str, str]
) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    mine = {**shared, "ENTITIES": "tenantry.catalogue,books.py"}
    assert tenantry("migrate", "--write", "add books", **mine).returncode == 0
    assert tenantry("migrate", **mine).returncode == 0
    said = "was migrated with files that TENANTRY_ENTITIES does not name now"
    for command in (("serve",), ("migrate",), ("migrate", "--check"), ("migrate", "--sql"), ("check",)):
        ended = tenantry(*command, **shared, PORT=str(free_port()))
        everything = ended.stdout + ended.stderr
        assert ended.returncode != 0
        assert said in everything
        assert "TENANTRY_ENTITIES is tenantry.catalogue: name the modules again" in everything
        assert "Traceback" not in everything
    assert tenantry("check", **mine).returncode == 0
    # the command that is recommended where the files are gone for good
    marked = tenantry("migrations", "stamp", "heads", **shared)
    assert marked.returncode == 0, marked.stderr
    assert tenantry("check", **shared).returncode == 0


async def test_migrations_are_told_compared_and_marked(tenantry: Tenantry, shared: dict[str, str]) -> None:
    for words in (("--help",), ("stamp", "--help"), ("check", "--help")):
        assert tenantry("migrations", *words).returncode == 0
    empty = tenantry("migrations", "current", **shared)
    assert (empty.returncode, empty.stdout) == (0, "No migration has been applied to this database.\n"), empty.stderr
    pending = tenantry("migrations", "check", **shared)
    assert (pending.returncode, pending.stdout) == (5, "")
    assert "The database is empty: migrations up to 00" in pending.stderr
    assert tenantry("migrate", **shared).returncode == 0
    assert "is what the entities declare" in tenantry("migrations", "check", **shared).stdout
    newest, *_, oldest = tenantry("migrations", "history", **shared).stdout.splitlines()
    assert "(head) (current), " in newest
    assert oldest.startswith("<base> -> 0001, ")
    unknown = tenantry("migrations", "stamp", "0999", **shared)
    assert unknown.returncode == 5
    assert unknown.stderr == "No migration has the revision 0999: see `tenantry migrations history`.\n"
    marked = tenantry("migrations", "stamp", "0041", **shared)
    assert marked.stdout == "The database is marked as being at 0041. No migration was run.\n", marked.stderr
    refused = tenantry("migrate", **shared)
    assert refused.returncode == 5
    assert "0042_mails_given_up.py, line " in refused.stderr
    assert 'nothing was changed: column "why" of relation "outbox" already exists.' in refused.stderr
    assert "(head)" in tenantry("migrations", "stamp", "heads", **shared).stdout
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    await connection.execute("DROP INDEX ix_users_email")
    await connection.close()
    differs = tenantry("migrations", "check", **shared)
    assert differs.returncode == 5
    assert "  - The index ix_users_email of users is missing.\n" in differs.stderr


async def test_an_operator_makes_admins_unlocks_and_rotates(tenantry: Tenantry, shared: dict[str, str]) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    made = tenantry("create-admin", "ada@example.com", "--generate", **shared)
    assert made.returncode == 0, made.stderr
    assert "ada@example.com is a super-admin now, with the password " in made.stdout
    taken = tenantry("create-admin", "ADA@example.com", **shared)
    assert taken.returncode == 1
    assert "Traceback" not in taken.stderr
    assert "was not locked" in tenantry("users", "unlock", "ada@example.com", **shared).stdout
    assert "is published now" in tenantry("keys", "rotate", **shared).stdout


async def test_an_operator_cleans_up(tenantry: Tenantry, shared: dict[str, str]) -> None:
    assert tenantry("migrate", **shared).returncode == 0
    assert tenantry("clean", **shared).stdout == "There was nothing to take away.\n"
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    try:
        await connection.execute(
            "INSERT INTO spent_ids SELECT n::text, now() - interval '2 days' FROM generate_series(1, 1200) n"
        )
        cleaned = tenantry("clean", **shared)
        assert cleaned.stdout == "Taken away: 1200 used nonces of encrypted passwords.\n", cleaned.stderr
        await connection.execute("SELECT pg_advisory_lock(hashtextextended('tenantry.housekeeping', 0))")
        assert tenantry("clean", **shared).stdout == "Another process is cleaning up just now.\n"
    finally:
        await connection.close()


def test_a_database_that_does_not_answer_is_said_plainly(tenantry: Tenantry) -> None:
    ended = tenantry(
        "migrate",
        DATABASE_URL="postgresql://user:hidden@127.0.0.1:1/none",
        REDIS_URL="redis://127.0.0.1:1",
        SECRET_KEY="4uQ9-xT7_bZ2mK8sW5pJ1cV6nR3yL0hD",
    )
    assert ended.returncode == 4
    assert "The database does not answer" in ended.stderr
    assert "hidden" not in ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
