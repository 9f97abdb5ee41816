"""``tenantry migrate`` and ``migrations``: written, read, applied, told, marked and taken back."""

import re
import stat
from pathlib import Path

import asyncpg
import pytest

from adapters.postgres.migrations.pending import VERSIONS
from entrypoints.server.failures import NO_ROLE, NOT_MIGRATED
from tests.conftest import NewDatabase
from tests.entrypoints.cli.test_cli import BOOKS
from tests.entrypoints.conftest import settings_of
from tests.entrypoints.processes import Tenantry, free_port


@pytest.mark.promise(
    "migrations, common changes: no traceback is shown for a file that cannot be applied, is wrong Python, clashes "
    "with another or follows none"
)
def test_migrations_that_clash_are_named(tenantry: Tenantry, tmp_path: Path, shared: dict[str, str]) -> None:
    (tmp_path / "books.py").write_text("ENTITIES = ()\n")
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "0002_mine.py").write_text('revision = "0002"\ndown_revision = None\n')
    (tmp_path / "migrations" / "0099_lost.py").write_text('revision = "0099"\ndown_revision = "0098"\n')
    own = {**shared, "ENTITIES": "tenantry.catalogue,books.py"}
    for ended in (tenantry("migrate", **own), tenantry("serve", **own, PORT=str(free_port()))):
        assert ended.returncode == 5, ended.stderr
        assert "The revision 0002 is in " in ended.stderr
        assert "0002_example_catalogue.py and in " in ended.stderr
        assert "0099_lost.py follows 0098, which is in no file." in ended.stderr
        assert "Give your own migration another revision" in ended.stderr
        assert "Traceback" not in ended.stderr
    checked = tenantry("check", **own)
    assert checked.returncode == 1
    assert "The migrations do not fit together" in checked.stdout


def test_an_empty_database_is_distinguished_from_a_broken_one(tenantry: Tenantry, shared: dict[str, str]) -> None:
    checked = tenantry("check", **shared)
    assert checked.returncode == 1
    assert "Run: tenantry migrate" in checked.stdout
    assert "Traceback" not in checked.stderr
    listed = tenantry("users", "list", **shared)
    # a server on which nothing was ever migrated has not the role either
    assert (listed.returncode, listed.stdout) == (5, "")
    assert listed.stderr in (f"{NOT_MIGRATED}\n", f"{NO_ROLE}\n")


@pytest.mark.end_to_end  # it starts embedded servers, five times
def test_a_fresh_folder_is_checked_migrated_and_checked_again(tenantry: Tenantry, tmp_path: Path) -> None:
    pending = tenantry("check")
    assert pending.returncode == 1
    assert "Run: tenantry migrate" in pending.stdout
    # No migration has made the role of the service on this server yet.
    listed = tenantry("users", "list")
    assert (listed.returncode, listed.stdout, listed.stderr) == (5, "", f"{NOT_MIGRATED}\n")
    migrated = tenantry("migrate")
    assert migrated.stdout.startswith("Applied the migrations up to 00"), migrated.stderr
    assert migrated.stdout.endswith(". The database is up to date.\n")
    assert tenantry("migrate").stdout == "The database is up to date.\n"
    current = tenantry("check")
    assert current.returncode == 0, current.stdout + current.stderr
    key = tmp_path / ".data" / "secret.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert not (tmp_path / ".data" / "run.json").exists()


@pytest.mark.promise(
    "migrations, workflow: --write writes a file and changes no database, also while files are pending; migrate "
    "applies; --sql prints"
)
@pytest.mark.promise(
    "migrations, workflow: make migrate MESSAGE=… writes and make migrate applies; what is written is shown with its "
    "notes and how to apply it"
)
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


@pytest.mark.promise(
    "migrations, workflow: the printed SQL makes the database when it is run as it is, nothing concurrent inside a "
    "transaction"
)
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


async def test_check_suggests_writing_and_then_applying_a_missing_migration(
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


@pytest.mark.promise(
    "migrations, workflow: make migrate MESSAGE=… writes and make migrate applies; what is written is shown with its "
    "notes and how to apply it"
)
@pytest.mark.promise(
    "migrations, data loss: a file that waits for a decision is refused by migrate and by the start, with file, line "
    "and reason; its rows stay as they are"
)
@pytest.mark.promise("migrations, common changes: it stops the next start with its name, and one command takes it back")
async def test_a_file_that_waits_for_a_decision_stops_the_start_and_is_taken_back(
    tenantry: Tenantry, tmp_path: Path, migrated: dict[str, str]
) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    mine = {**migrated, "ENTITIES": "tenantry.catalogue,books.py"}
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


@pytest.mark.promise("migrations, renames: They are counted by tenantry check and tenantry migrations check")
async def test_check_counts_values_that_an_enum_does_not_know_any_more(
    tenantry: Tenantry, tmp_path: Path, migrated: dict[str, str]
) -> None:
    source = BOOKS.replace("isbn: str", 'isbn: Literal["new", "old"]').replace("Annotated\n", "Annotated, Literal\n")
    (tmp_path / "books.py").write_text(source)
    mine = {**migrated, "ENTITIES": "tenantry.catalogue,books.py"}
    assert tenantry("migrate", "--write", "add books", **mine).returncode == 0
    assert tenantry("migrate", **mine).returncode == 0
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
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


@pytest.mark.promise(
    "migrations, databases and replicas: a database at a revision that no file knows is told with the setting that "
    "differs, by serve, check, migrate, --check and --sql; the command that is recommended works"
)
async def test_migration_files_that_are_no_longer_named_are_reported_with_the_setting(
    tenantry: Tenantry, tmp_path: Path, migrated: dict[str, str]
) -> None:
    (tmp_path / "books.py").write_text(BOOKS)
    mine = {**migrated, "ENTITIES": "tenantry.catalogue,books.py"}
    assert tenantry("migrate", "--write", "add books", **mine).returncode == 0
    assert tenantry("migrate", **mine).returncode == 0
    said = "was migrated with files that TENANTRY_ENTITIES does not name now"
    for command in (("serve",), ("migrate",), ("migrate", "--check"), ("migrate", "--sql"), ("check",)):
        ended = tenantry(*command, **migrated, PORT=str(free_port()))
        everything = ended.stdout + ended.stderr
        assert ended.returncode != 0
        assert said in everything
        assert "TENANTRY_ENTITIES is tenantry.catalogue: name the modules again" in everything
        assert "Traceback" not in everything
    assert tenantry("check", **mine).returncode == 0
    # the command that is recommended where the files are gone for good
    marked = tenantry("migrations", "stamp", "heads", **migrated)
    assert marked.returncode == 0, marked.stderr
    assert tenantry("check", **migrated).returncode == 0


@pytest.mark.parametrize("others", ["users", "alembic_version"])
async def test_a_database_of_another_application_is_reported_as_such(
    tenantry: Tenantry, servers: tuple[str, str], empty_database: NewDatabase, others: str
) -> None:
    """Such as that of the application which the plugin is in. Marking it would lose where its own migrations are."""
    url = await empty_database()
    connection = await asyncpg.connect(url)
    await connection.execute(f"CREATE TABLE {others} (version_num text); INSERT INTO {others} VALUES ('a1b2c3d4e5f6')")
    theirs = settings_of(url, servers[1])
    for command in (("serve",), ("migrate",), ("migrations", "stamp", "heads")):
        ended = tenantry(*command, **theirs, PORT=str(free_port()))
        assert ended.returncode != 0, command
        assert f"tables of another application, which Tenantry would make too: {others}." in ended.stderr, ended.stderr
    assert await connection.fetchval(f"SELECT version_num FROM {others}") == "a1b2c3d4e5f6"
    await connection.close()


async def test_a_database_of_a_newer_version_is_not_said_to_lack_files(
    tenantry: Tenantry, migrated: dict[str, str]
) -> None:
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute("UPDATE alembic_version SET version_num = '0999'")
    await connection.close()
    for command in (("serve",), ("migrate",), ("check",)):
        ended = tenantry(*command, **migrated, PORT=str(free_port()))
        everything = ended.stdout + ended.stderr
        assert ended.returncode != 0
        assert "A newer version of Tenantry migrated the database: this one has no migration 0999." in everything
        assert "stamp" not in everything
        assert "Traceback" not in everything
    marked = tenantry("migrations", "stamp", "heads", **migrated)
    assert (marked.returncode, marked.stdout) == (5, "")
    assert "A newer version of Tenantry migrated the database: this one has no migration 0999." in marked.stderr
    assert "has no migration 0999" in tenantry("migrate", "--check", **migrated).stderr


async def test_migrations_can_be_listed_compared_and_stamped(tenantry: Tenantry, shared: dict[str, str]) -> None:
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
    marked = tenantry("migrations", "stamp", "0001", **shared)
    assert marked.stdout == "The database is marked as being at 0001. No migration was run.\n", marked.stderr
    refused = tenantry("migrate", **shared)
    assert refused.returncode == 5
    assert "0002_example_catalogue.py, line " in refused.stderr
    assert 'nothing was changed: relation "categories" already exists.' in refused.stderr
    assert "(head)" in tenantry("migrations", "stamp", "heads", **shared).stdout
    connection = await asyncpg.connect(shared["DATABASE_URL"])
    await connection.execute("DROP INDEX ix_users_email")
    await connection.close()
    differs = tenantry("migrations", "check", **shared)
    assert differs.returncode == 5
    assert "  - The index ix_users_email of users is missing.\n" in differs.stderr


async def test_no_migration_of_the_tables_that_tenantry_brings_is_written(
    tenantry: Tenantry, migrated: dict[str, str]
) -> None:
    """It would lie in the installed package, and count for every other database of the machine."""
    nothing = tenantry("migrate", "--write", "nothing", **migrated)
    assert (nothing.returncode, "there is nothing to write" in nothing.stdout) == (0, True), nothing.stderr
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute("ALTER TABLE products DROP COLUMN stock CASCADE")
    await connection.close()
    before = sorted(VERSIONS.iterdir())
    refused = tenantry("migrate", "--write", "stock", **migrated)
    assert refused.returncode == 5, refused.stdout
    assert "stock" in refused.stderr
    assert refused.stderr.endswith("somebody has changed them by hand. Take that back by SQL.\n"), refused.stderr
    assert sorted(VERSIONS.iterdir()) == before
    assert "changed them by hand" in tenantry("check", **migrated).stdout
