"""docs/importing-users.md: the example, and what other systems store, imported as the page says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import asyncpg
import bcrypt
import pytest

from tests.contracts.passwords.test_foreign_hashes import OF_OTHERS
from tests.documents import DOCS, copied
from tests.entrypoints.processes import Tenantry

PAGE = (DOCS / "importing-users.md").read_text()
KNOWN = bcrypt.hashpw(b"a password", bcrypt.gensalt(4)).decode()
OTHER_SYSTEMS = {
    "From Supabase": f"""
        CREATE SCHEMA auth;
        CREATE TABLE auth.users (email text, encrypted_password text, email_confirmed_at timestamptz,
            raw_user_meta_data jsonb, deleted_at timestamptz);
        INSERT INTO auth.users VALUES
            ('ada@acme.example', '{KNOWN}', now(), '{{"full_name": "Ada"}}', NULL),
            ('bob@acme.example', '', NULL, '{{}}', NULL),
            (NULL, '', NULL, '{{}}', NULL),
            ('gone@acme.example', '{KNOWN}', now(), '{{}}', now());""",
    "From Django": f"""
        CREATE TABLE auth_user (email text, first_name text, last_name text, password text, is_active boolean);
        INSERT INTO auth_user VALUES
            ('ada@acme.example', 'Ada', '', '{OF_OTHERS["Django's pbkdf2"]}', true),
            ('bob@acme.example', '', '', '!unusable', true),
            ('', 'Nobody', '', '!', false);""",
}


def block(section: str, language: str) -> str:
    return str(re.findall(rf"```{language}\n(.*?)```", PAGE.partition(f"## {section}\n")[2], re.DOTALL)[0])


def test_the_example_says_what_the_page_shows(tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path) -> None:
    write, create, run = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)[0].splitlines()
    subprocess.run(["sh", "-c", write], cwd=tmp_path, check=True)
    assert tenantry(*create.split()[1:], **migrated).returncode == 0
    ended = tenantry(*run.split()[1:], **migrated)
    assert re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0].strip() in ended.stderr


@pytest.mark.parametrize("section", OTHER_SYSTEMS)
async def test_users_of_another_database_are_imported(
    section: str, tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path
) -> None:
    query = re.findall(r"\\copy \((.*)\) TO 'people.csv' WITH \(FORMAT csv, HEADER\)\n", block(section, "sql"))[0]
    connection = await asyncpg.connect(migrated["DATABASE_URL"])
    await connection.execute(OTHER_SYSTEMS[section])
    await connection.copy_from_query(query, output=tmp_path / "people.csv", format="csv", header=True)
    await connection.close()
    ended = tenantry("users", "import", str(tmp_path / "people.csv"), **migrated)
    assert "2 rows: 2 users made" in ended.stdout, ended.stderr
    listed = json.loads(tenantry("users", "list", "--json", **migrated).stdout)
    assert {user["email"] for user in listed} >= {"ada@acme.example", "bob@acme.example"}


def test_users_of_keycloak_are_imported(tenantry: Tenantry, migrated: dict[str, str], tmp_path: Path) -> None:
    stored = json.loads(OF_OTHERS["Keycloak's pbkdf2"])
    users = [
        {"email": "ada@acme.example", "firstName": "Ada", "emailVerified": True, "credentials": [stored]},
        {"email": "bob@acme.example", "enabled": False, "credentials": [{"type": "otp"}]},
        {"username": "robot"},
    ]
    script = copied("importing-users.md", "from_keycloak.py", tmp_path)
    made = subprocess.run(
        [sys.executable, script], input=json.dumps({"users": users}), capture_output=True, text=True, check=True
    )
    (tmp_path / "people.jsonl").write_text(made.stdout)
    ended = tenantry("users", "import", str(tmp_path / "people.jsonl"), **migrated)
    assert "2 rows: 2 users made" in ended.stdout, ended.stderr
