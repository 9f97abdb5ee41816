"""``tenantry users import``: a file in, users in the database, wrong rows by their number.

A file of entities that cannot be imported is told by the line that its author can mend.
"""

import re
from importlib import import_module
from pathlib import Path

import bcrypt
import pytest

from entrypoints.assembly.entities import LIBRARIES, EntitiesError, load_registry, where_raised
from tests.entrypoints.processes import Tenantry

HEADER = "email,fullName,passwordHash,emailConfirmed,tenant,roles\n"


@pytest.mark.promise("identity, user import: the command tenantry users import")
async def test_a_file_is_imported_and_its_wrong_rows_are_named(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    known = bcrypt.hashpw(b"a password", bcrypt.gensalt(4)).decode()
    file = tmp_path / "people.csv"
    file.write_text(f"{HEADER}ada@example.com,Ada,{known},true,,\nbob,Bob,,,,\neve@example.com,Eve,md5,,,SuperAdmin\n")
    ended = tenantry("users", "import", str(file), **migrated)
    assert ended.returncode == 1
    assert "row 3: email: is not an e-mail address" in ended.stderr
    assert "row 4: roles: are held in a tenant: name it; passwordHash: is not a hash" in ended.stderr
    assert "3 rows: 1 users made, 0 joined a tenant, 0 were there already, 2 refused." in ended.stderr
    assert "Traceback" not in ended.stderr
    file.write_text(f"{HEADER}ada@example.com,Ada,{known},true,,\nbob@example.com,Bob,,,,\n")
    again = tenantry("users", "import", str(file), **migrated)
    assert (again.returncode, again.stdout) == (
        0,
        "2 rows: 1 users made, 0 joined a tenant, 1 were there already, 0 refused.\n",
    )


async def test_a_file_that_cannot_be_read_is_said_plainly(
    tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    for name, content, said in (
        ("people.xlsx", b"", "neither .csv nor .jsonl"),
        ("latin.csv", HEADER.encode() + b"ada@example.com,Ad\xe4,,,,\n", "not UTF-8"),
        ("other.csv", b"mail,name\n", "The column 'mail' is not known; did you mean 'email'? 0 rows"),
        ("far.csv", b"xyzzy,name\n", "The column 'xyzzy' is not known. 0 rows"),
        ("excel.csv", b"email;fullName\nada@example.com;Ada\n", "not separated by commas"),
    ):
        (tmp_path / name).write_bytes(content)
        ended = tenantry("users", "import", str(tmp_path / name), **migrated)
        assert ended.returncode == 1, name
        assert said in ended.stderr
        assert "Traceback" not in ended.stderr


HEAD = "from tenantry import entity, money\nfrom msgspec import Meta, Struct\n"
WRONG = {
    "an argument that the decorator does not have": '@entity("as", colour="red")\nclass A(Struct):\n    x: str\n',
    "an argument that a marker does not have": 'LIMIT = money(5, 2, least="abc")\n',
    "a pattern that the standard library refuses": 'CODE = Meta(pattern="(")\n',
}
ENDS = "raise SystemExit(3)\n"


@pytest.mark.promise("declarations, checks: a file that cannot be imported is told by its own line")
@pytest.mark.parametrize("case", WRONG)
def test_the_line_of_the_file_is_named(tmp_path: Path, case: str) -> None:
    file = tmp_path / "shop.py"
    file.write_text(HEAD + WRONG[case])
    with pytest.raises(EntitiesError) as caught:
        load_registry([str(file)])
    assert f"(line 3 of {file})" in str(caught.value)


def test_a_declaration_file_that_ends_the_process_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text(HEAD + ENDS)
    with pytest.raises(EntitiesError, match=rf"cannot be imported: SystemExit: 3 \(line 3 of {file}\)"):
        load_registry([str(file)])


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("is_package", [True, False])
def test_the_line_of_an_installed_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, is_package: bool
) -> None:
    top = f"shop_{list(WRONG).index(case)}_{is_package}"
    name = f"{top}.entities" if is_package else top
    file = tmp_path / f"{name.replace('.', '/')}.py"
    file.parent.mkdir(exist_ok=True)
    file.write_text(HEAD + WRONG[case])
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises((TypeError, ValueError, ArithmeticError, re.error)) as caught:
        import_module(name)
    assert f"(line 3 of {file})" in where_raised(caught.value, name, (*LIBRARIES, f"{tmp_path}/"))
