"""Each answer of a peer is right, before its speed counts: ids, order, totals, and what is stored afterwards."""

import csv
import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from msgspec import DecodeError, json

from benchmarks import client
from benchmarks.bench_data import TRANSIENT, User
from benchmarks.failures import BenchmarkFailed
from benchmarks.peers.dialect import value_at
from benchmarks.peers.operations import BATCH, OPERATIONS, login, prices, users_in_turn
from benchmarks.peers.started import Field, Peer
from benchmarks.requests import MARK, Request, numbered

CHECKED_NUMBERS = 900_000_000
"""First number of the rows that the checks make."""

NEWEST = """
SELECT id FROM products WHERE tenant_id = $1 AND NOT is_deleted ORDER BY created_at DESC, id DESC
LIMIT 20 OFFSET $2"""
DEAREST = """
SELECT p.id, c.name AS category, count(*) OVER () AS total
FROM products p JOIN categories c ON c.tenant_id = p.tenant_id AND c.id = p.category_id
WHERE p.tenant_id = $1 AND p.category_id = $2 AND p.status = 'live' AND p.price BETWEEN $3 AND $4 AND NOT p.is_deleted
ORDER BY p.price DESC LIMIT 20"""


@dataclass
class Asked:
    """A peer that is asked a few questions."""

    field: Field
    peer: Peer
    next_number: int = CHECKED_NUMBERS

    @property
    def tenant(self) -> UUID:
        """Tenant of the first request of each load."""
        return self.user.tenant_id

    @property
    def user(self) -> User:
        (_, user, _), *_ = users_in_turn(self.field.data, self.peer.tokens, 1)
        return user

    def first(self, name: str) -> Request:
        (operation,) = (operation for operation in OPERATIONS if operation.name == name)
        return operation.load(self.peer.dialect, self.field.data, self.peer.tokens)[0]

    async def ask(self, request: Request) -> client.Answer:
        line = await client.Line.open(self.peer.server.port)
        try:
            text, self.next_number = numbered(request.wire(), self.next_number)
            return await line.ask(text)
        finally:
            line.close()

    async def ask_well(self, request: Request) -> Any:
        """The JSON of an answer of 2xx; None without a body."""
        answer = await self.ask(request)
        self.ensure(200 <= answer.status < 300, f"{answer.status} {answer.body[:300]!r}")
        try:
            return json.decode(answer.body) if answer.body else None
        except DecodeError:
            return answer.body.decode()

    def ensure(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise BenchmarkFailed(f"{self.peer.name} answers wrongly: {otherwise}\n{self.peer.server.last_words()}")

    def ids(self, rows: list[UUID]) -> list[str]:
        return [self.peer.dialect.id_of(row) for row in rows]


async def check_get(asked: Asked) -> None:
    request = asked.first("get")
    row = value_at(await asked.ask_well(request), asked.peer.dialect.row)
    asked.ensure(str(row["id"]) in request.path and str(row["sku"]).startswith("SKU-"), f"another row: {row}")
    strangers = [user for user in asked.field.data.users if user.tenant_id != asked.tenant]
    for stranger in strangers[:1]:
        answer = await asked.ask(Request(path=request.path, token=asked.peer.tokens[stranger.id]))
        asked.ensure(answer.status == 404, f"another tenant's row: {answer.status}")
    answer = await asked.ask(Request(path=request.path))
    asked.ensure(answer.status in {401, 403, 404}, f"a row without a token: {answer.status}")


async def check_page(asked: Asked) -> None:
    dialect = asked.peer.dialect
    for page in (1, 3):
        request = Request(
            path=dialect.page_path.format(page=page, tenant=asked.tenant), token=asked.peer.tokens[asked.user.id]
        )
        answer = await asked.ask_well(request)
        expected = await asked.field.rows.fetch(NEWEST, asked.tenant, 20 * (page - 1))
        found = [row["id"] for row in value_at(answer, dialect.products)]
        asked.ensure(found == asked.ids([row["id"] for row in expected]), f"page {page} has other rows: {found}")
        total = value_at(answer, dialect.total)
        asked.ensure(total == asked.field.data.size.rows_each, f"a total of {total}")


async def check_filter(asked: Asked) -> None:
    await _check_filtered(asked, "filter")


async def check_include(asked: Asked) -> None:
    answer, expected = await _check_filtered(asked, "include")
    names = [value_at(row, asked.peer.dialect.category_name) for row in value_at(answer, asked.peer.dialect.products)]
    asked.ensure(names == [row["category"] for row in expected], f"other categories: {names}")


async def _check_filtered(asked: Asked, name: str) -> tuple[Any, Any]:
    dialect, data = asked.peer.dialect, asked.field.data
    ((chance, user, _),) = users_in_turn(data, asked.peer.tokens, 1)
    chosen = prices(dialect, data, user, chance)
    category = next(c for c in data.categories[user.tenant_id] if dialect.id_of(c) == chosen["category"])
    expected = await asked.field.rows.fetch(DEAREST, user.tenant_id, category, chosen["least"], chosen["most"])
    path = dialect.included_path if name == "include" else dialect.filtered_path
    answer = await asked.ask_well(Request(path=path.format(**chosen), token=asked.peer.tokens[user.id]))
    found = [row["id"] for row in value_at(answer, dialect.products)]
    asked.ensure(bool(found) and found == asked.ids([row["id"] for row in expected]), f"other rows: {found}")
    total = value_at(answer, dialect.total)
    asked.ensure(total == expected[0]["total"], f"a total of {total}")
    return answer, expected


async def check_create(asked: Asked) -> None:
    request = asked.first("create")
    await asked.ask_well(request)
    stored = await asked.peer.store.stored(f"{TRANSIENT}{asked.next_number - 1:09d}")
    price = json.decode(request.body)["price"]
    asked.ensure([row.price for row in stored] == [price], f"{stored} is stored and not {price}")


async def check_update(asked: Asked) -> None:
    request = asked.first("update")
    await asked.ask_well(request)
    ids = {asked.peer.dialect.id_of(row): row for row in asked.field.data.products[asked.tenant]}
    changed = next(row for text, row in ids.items() if text in request.path)
    stored = await asked.peer.store.product(changed)
    price = json.decode(request.body)["price"]
    asked.ensure(stored is not None and stored.price == price, f"{stored} is stored and not {price}")
    asked.ensure(stored is not None and stored.sku.startswith("SKU-"), f"another row: {stored}")


async def check_delete(asked: Asked) -> None:
    tenants = asked.field.data.tenants
    await asked.peer.store.add_deletable(tenants, asked.next_number, 2)
    request, number = asked.first("delete"), asked.next_number
    prefix = f"{TRANSIENT}D{number:09d}"
    asked.ensure(len(await asked.peer.store.stored(prefix)) == 1, "no row is there to be deleted")
    await asked.ask_well(request)
    asked.ensure(not await asked.peer.store.stored(prefix), "the row is still there")
    asked.ensure(len(await asked.peer.store.stored(f"{TRANSIENT}D{number + 1:09d}")) == 1, "another row is gone")
    again = await asked.ask(Request(path=request.path.replace(MARK, f"{number:09d}"), token=request.token))
    asked.ensure(again.status == 404, f"a deleted row: {again.status}")


async def check_batch(asked: Asked) -> None:
    first = asked.next_number
    await asked.ask_well(asked.first("batch"))
    stored = {row.sku for row in await asked.peer.store.stored(TRANSIENT)}
    made = {f"{TRANSIENT}{number:09d}" for number in range(first, first + BATCH)}
    asked.ensure(made <= stored, f"{len(made - stored)} of {BATCH} rows are missing")


async def check_export(asked: Asked) -> None:
    if asked.peer.dialect.export_path is None:
        return
    request = Request(path=asked.peer.dialect.export_path, token=asked.peer.tokens[asked.user.id])
    rows = list(csv.DictReader(io.StringIO(str(await asked.ask_well(request)))))
    expected = await asked.field.rows.fetch(
        "SELECT id FROM products WHERE tenant_id = $1 AND NOT is_deleted", asked.tenant
    )
    asked.ensure(sorted(row["id"] for row in rows) == sorted(str(row["id"]) for row in expected), "other rows")
    asked.ensure(all(row["sku"].startswith("SKU-") and float(row["price"]) >= 0 for row in rows), "other columns")


async def check_login(asked: Asked) -> None:
    dialect = asked.peer.dialect
    token = value_at(await asked.ask_well(login(dialect, asked.user.email)), dialect.token)
    await asked.ask_well(Request(path=asked.first("get").path, token=token))
    refused = await asked.ask(login(dialect, asked.user.email, "another password"))
    asked.ensure(400 <= refused.status < 500, f"a wrong password: {refused.status}")


CHECKS: dict[str, Callable[[Asked], Awaitable[None]]] = {
    "get": check_get,
    "page": check_page,
    "filter": check_filter,
    "include": check_include,
    "create": check_create,
    "update": check_update,
    "delete": check_delete,
    "batch": check_batch,
    "export": check_export,
    "login": check_login,
}


async def ensure_right(field: Field, peer: Peer, operation: str) -> None:
    """Raises BenchmarkFailed for a wrong answer; removes the rows that it makes."""
    await peer.store.clean()
    try:
        await CHECKS[operation](Asked(field, peer))
    except (TypeError, KeyError, ValueError) as error:
        raise BenchmarkFailed(f"{peer.name}, {operation}: an answer of another shape: {error!r}") from error
    finally:
        await peer.store.clean()
