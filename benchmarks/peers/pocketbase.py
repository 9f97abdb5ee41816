"""PocketBase with the benchmark's rows: collections and users by its interface, rows into its file.

Source: its documentation of collections, API rules, batch requests and the command line.
"""

import sqlite3
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from benchmarks.bench_data import PASSWORD, User
from benchmarks.failures import BenchmarkFailed
from benchmarks.peers.dialect import id_of_record
from benchmarks.servers import Server, running

ADMIN_EMAIL, ADMIN_PASSWORD = "admin@example.com", "a password for benchmarks only"
DATA = "pb_data"
OWN = "tenant = @request.auth.tenant"
RULES = dict.fromkeys(("listRule", "viewRule", "updateRule", "deleteRule"), OWN) | {
    "createRule": "@request.auth.tenant != '' && @request.body.tenant = @request.auth.tenant"
}
TIMES = [
    {"name": "created", "type": "autodate", "onCreate": True},
    {"name": "updated", "type": "autodate", "onCreate": True, "onUpdate": True},
]
CATEGORIES = {
    "id": "categories00000",
    "name": "categories",
    "type": "base",
    "fields": [
        {"name": "tenant", "type": "text", "required": True},
        {"name": "name", "type": "text", "required": True, "max": 200},
        {"name": "description", "type": "text", "max": 10_000},
        *TIMES,
    ],
    "indexes": ["CREATE INDEX categories_by_tenant ON categories (tenant, created, id)"],
    **RULES,
}
INDEXES = [
    "CREATE INDEX products_by_category ON products (tenant, category)",
    "CREATE INDEX products_by_price ON products (tenant, category, price, id)",
    "CREATE INDEX products_by_time ON products (tenant, created, id)",
    "CREATE UNIQUE INDEX products_by_sku ON products (tenant, sku)",
]
SEARCHED = "tenant, name, sku, description"
ADDED, REMOVED = (f"{row}.{SEARCHED.replace(', ', f', {row}.')}" for row in ("new", "old"))
SEARCH_INDEX = f"""
CREATE VIRTUAL TABLE products_search USING fts5({SEARCHED}, content='products', tokenize='trigram');
CREATE TRIGGER products_search_insert AFTER INSERT ON products BEGIN
    INSERT INTO products_search (rowid, {SEARCHED}) VALUES (new.rowid, {ADDED});
END;
CREATE TRIGGER products_search_delete AFTER DELETE ON products BEGIN
    INSERT INTO products_search (products_search, rowid, {SEARCHED}) VALUES ('delete', old.rowid, {REMOVED});
END;
CREATE TRIGGER products_search_update AFTER UPDATE OF {SEARCHED} ON products BEGIN
    INSERT INTO products_search (products_search, rowid, {SEARCHED}) VALUES ('delete', old.rowid, {REMOVED});
    INSERT INTO products_search (rowid, {SEARCHED}) VALUES (new.rowid, {ADDED});
END"""
"""Index of trigrams by FTS5, as PostgreSQL has it for the other peers; see https://www.sqlite.org/fts5.html."""

PRODUCTS = {
    "id": "products0000000",
    "name": "products",
    "type": "base",
    "fields": [
        {"name": "tenant", "type": "text", "required": True},
        {"name": "name", "type": "text", "required": True, "max": 200},
        {"name": "sku", "type": "text", "required": True, "pattern": "^[A-Z0-9-]{3,32}$"},
        {"name": "description", "type": "text", "max": 10_000},
        {"name": "price", "type": "number"},
        {"name": "stock", "type": "number", "onlyInt": True, "min": 0},
        {"name": "status", "type": "select", "values": ["draft", "live", "retired"], "maxSelect": 1},
        {"name": "category", "type": "relation", "collectionId": CATEGORIES["id"], "maxSelect": 1},
        {"name": "released_at", "type": "date"},
        *TIMES,
    ],
    "indexes": INDEXES,
    **RULES,
}


@contextmanager
def pocketbase(program: Path, folder: Path) -> Iterator[Server]:
    """PocketBase with an administrator and without rows; its file is in the folder."""
    made = subprocess.run(
        [program, "superuser", "upsert", ADMIN_EMAIL, ADMIN_PASSWORD, *_places(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise BenchmarkFailed(f"PocketBase could not be prepared:\n{made.stdout}{made.stderr}")
    command = [str(program), "serve", "--http", "127.0.0.1:{port}", *_places(folder)]
    with running("PocketBase", command, {}, folder) as server:
        server.await_ready("/api/health")
        yield server


def _places(folder: Path) -> list[str]:
    """Options that keep everything in the folder: by default migrations are written beside it, and read again."""
    return ["--dir", str(folder / DATA), "--migrationsDir", str(folder / "pb_migrations"), "--automigrate=false"]


async def fill(server: Server, folder: Path, users: Sequence[User], rows: asyncpg.Connection) -> None:
    """Makes collections and users, and copies the rows."""
    _make_collections(server, users)
    await _copy_rows(file_in(folder), rows)


def _make_collections(server: Server, users: Sequence[User]) -> None:
    with httpx.Client(base_url=server.address, timeout=60.0) as client:
        signed_in = _ask(
            client, "POST", "_superusers/auth-with-password", {"identity": ADMIN_EMAIL, "password": ADMIN_PASSWORD}
        )
        client.headers["Authorization"] = signed_in["token"]
        client.patch("/api/settings", json={"batch": {"enabled": True, "maxRequests": 1_000}}).raise_for_status()
        fields = _ask(client, "GET", "users", None)["fields"]
        with_tenant = [*fields, {"name": "tenant", "type": "text", "required": True}]
        _ask(client, "PATCH", "users", {"fields": with_tenant, "authAlert": {"enabled": False}})
        _ask(client, "PUT", "import", {"collections": [CATEGORIES, PRODUCTS], "deleteMissing": False})
        for user in users:
            _add_user(client, user)


def file_in(folder: Path) -> Path:
    return folder / DATA / "data.db"


def _add_user(client: httpx.Client, user: User) -> None:
    body = {
        "email": user.email,
        "password": PASSWORD,
        "passwordConfirm": PASSWORD,
        "tenant": str(user.tenant_id),
        "verified": True,
    }
    _ask(client, "POST", "users/records", body)


def _ask(client: httpx.Client, method: str, path: str, body: object) -> dict[str, Any]:
    address = f"/api/collections/{path}"
    answer = client.request(method, address, json=body)
    if not answer.is_success:
        raise BenchmarkFailed(f"PocketBase: {method} {address} answered {answer.status_code}: {answer.text[:500]}")
    data: dict[str, Any] = answer.json() if answer.content else {}
    return data


async def _copy_rows(file: Path, rows: asyncpg.Connection) -> None:
    categories = await rows.fetch("SELECT id, tenant_id, name, description, created_at FROM categories")
    products = await rows.fetch(
        "SELECT id, tenant_id, name, sku, description, price, stock, status, category_id, released_at, created_at "
        "FROM products"
    )
    connection = sqlite3.connect(file, timeout=60.0)
    connection.executescript(SEARCH_INDEX)
    with connection:
        connection.executemany(
            "INSERT INTO categories (id, tenant, name, description, created, updated) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (id_of_record(row[0]), str(row[1]), row[2], row[3] or "", _time(row[4]), _time(row[4]))
                for row in categories
            ],
        )
        connection.executemany(
            "INSERT INTO products (id, tenant, name, sku, description, price, stock, status, category, released_at, "
            "created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            map(_record, products),
        )
    connection.execute("ANALYZE")
    connection.close()


def _record(row: asyncpg.Record) -> tuple[Any, ...]:
    words = (id_of_record(row["id"]), str(row["tenant_id"]), row["name"], row["sku"], row["description"] or "")
    category = "" if row["category_id"] is None else id_of_record(row["category_id"])
    numbers = (float(row["price"]), row["stock"], row["status"], category)
    times = (_time(row["released_at"]), _time(row["created_at"]), _time(row["created_at"]))
    return (*words, *numbers, *times)


def _time(value: Any) -> str:
    """A time as PocketBase stores it; empty for none."""
    return "" if value is None else value.strftime("%Y-%m-%d %H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
