"""The ten operations, as requests of any peer's dialect."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct, json

from benchmarks.bench_data import PASSWORD, TRANSIENT, BenchData, User
from benchmarks.peers.dialect import Dialect
from benchmarks.requests import MARK, Request, posting

Tokens = Mapping[UUID, str]
Load = Callable[[Dialect, BenchData, Tokens], Sequence[Request]]

MANY = 2_000
CHANCE = 7
FIRST_PAGES = 10
BATCH = 100


class Operation(Struct, frozen=True, kw_only=True):
    """A measured operation; ``connections`` ask at the same time."""

    name: str
    title: str
    load: Load
    tool: Literal["wrk", "client"] = "wrk"
    connections: int = 64


def users_in_turn(data: BenchData, tokens: Tokens, count: int) -> list[tuple[random.Random, User, str]]:
    """Users with their tokens, and a random generator with the same seed in every run."""
    chance = random.Random(CHANCE)
    return [(chance, user, tokens[user.id]) for user in chance.choices(data.users, k=count)]


def reads(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        Request(path=_row(dialect, chance.choice(data.products[user.tenant_id])), token=token)
        for chance, user, token in users_in_turn(data, tokens, MANY)
    ]


def pages(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        Request(path=dialect.page_path.format(page=chance.randint(1, FIRST_PAGES), tenant=user.tenant_id), token=token)
        for chance, user, token in users_in_turn(data, tokens, MANY)
    ]


def filtered(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return _filtered(dialect.filtered_path, dialect, data, tokens)


def included(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return _filtered(dialect.included_path, dialect, data, tokens)


def _filtered(path: str, dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        Request(path=path.format(**prices(dialect, data, user, chance)), token=token)
        for chance, user, token in users_in_turn(data, tokens, MANY)
    ]


def prices(dialect: Dialect, data: BenchData, user: User, chance: random.Random) -> dict[str, Any]:
    """The tenant, a category of it, and two prices."""
    category = chance.choice(data.categories[user.tenant_id])
    return {
        "tenant": user.tenant_id,
        "category": dialect.id_of(category),
        "least": chance.randrange(500),
        "most": chance.randrange(5_000, 10_000),
    }


def creates(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        posting(dialect.create_path, token, _product(dialect, data, user, chance))
        for chance, user, token in users_in_turn(data, tokens, 500)
    ]


def updates(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        Request(
            method=dialect.change_method,
            path=_row(dialect, chance.choice(data.products[user.tenant_id])),
            token=token,
            body=json.encode({"price": chance.randrange(100_000) / 100, "stock": chance.randrange(500)}).decode(),
        )
        for chance, user, token in users_in_turn(data, tokens, MANY)
    ]


def deletes(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    """One request for each tenant in turn, as the rows to delete are of each tenant in turn."""
    path = dialect.row_path.format(id=dialect.deleted_id)
    return [Request(method="DELETE", path=path, token=token) for token in one_of_each_tenant(data, tokens)]


def batches(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        posting(
            dialect.batch_path,
            token,
            dialect.batch([_product(dialect, data, user, chance) for _ in range(BATCH)]),
        )
        for chance, user, token in users_in_turn(data, tokens, 10)
    ]


def exports(dialect: Dialect, data: BenchData, tokens: Tokens) -> list[Request]:
    """Empty where the peer has no export."""
    if dialect.export_path is None:
        return []
    return [Request(path=dialect.export_path, token=token) for token in one_of_each_tenant(data, tokens)]


def logins(dialect: Dialect, data: BenchData, _: Tokens) -> list[Request]:
    return [login(dialect, user.email) for user in data.users]


def login(dialect: Dialect, email: str, password: str = PASSWORD) -> Request:
    body = dialect.login_body(email, password)
    return Request(method="POST", path=dialect.login_path, body=body, content_type=dialect.login_type)


def one_of_each_tenant(data: BenchData, tokens: Tokens) -> list[str]:
    """A token of each tenant, in the order of the tenants."""
    of_tenant = {user.tenant_id: tokens[user.id] for user in data.users}
    return [of_tenant[tenant] for tenant in data.tenants]


def _row(dialect: Dialect, row: UUID) -> str:
    return dialect.row_path.format(id=dialect.id_of(row))


def _product(dialect: Dialect, data: BenchData, user: User, chance: random.Random) -> Mapping[str, Any]:
    """A body; its sku ends with MARK, so that each request has its own."""
    product = {
        "name": f"Measured {chance.choice(['lamp', 'bench', 'kettle'])} {chance.randrange(10_000)}",
        "sku": f"{TRANSIENT}{MARK}",
        "description": "Made while the clock ran, to see how long it takes; it is gone before the next run.",
        "price": chance.randrange(100_000) / 100,
        "stock": chance.randrange(500),
        "status": "live",
        "category": dialect.id_of(chance.choice(data.categories[user.tenant_id])),
    }
    return dialect.product(product, user.tenant_id)


OPERATIONS = (
    Operation(name="get", title="get by id", load=reads),
    Operation(name="page", title="page of 20, with total", load=pages),
    Operation(name="filter", title="page by filter and sort", load=filtered),
    Operation(name="include", title="the same with an include", load=included),
    Operation(name="create", title="create", load=creates),
    Operation(name="update", title="update", load=updates),
    Operation(name="delete", title="delete", load=deletes),
    Operation(name="batch", title=f"batch of {BATCH}", load=batches, connections=8),
    Operation(name="export", title="export of a tenant's rows, CSV", load=exports, tool="client", connections=4),
    Operation(name="login", title="login", load=logins, tool="client", connections=4),
)
