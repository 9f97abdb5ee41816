"""The measured operations: their requests, how they are sent, and the expected response."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Literal
from uuid import UUID

from msgspec import Struct, json
from msgspec.structs import replace

from benchmarks.bench_data import PASSWORD, TRANSIENT, BenchData, User
from benchmarks.client import Follow
from benchmarks.requests import BOUNDARY, DELETED_UUID, FORM, MARK, Request, posting

Tokens = Mapping[UUID, str]
Load = Callable[[BenchData, Tokens], Sequence[Request]]

MANY = 2_000
CHANCE = 7


class Operation(Struct, frozen=True, kw_only=True):
    """A measured operation.

    ``goal`` is the ratio to the baseline, ``expects`` is a text in the first body, ``beside`` runs at the same time.
    With ``deletes``, a run first adds the rows that its requests delete.
    """

    name: str
    title: str
    load: Load
    expects: str
    goal: float | None = None
    tool: Literal["wrk", "client"] = "wrk"
    connections: int = 64
    follow: Callable[[BenchData, Tokens], Follow] | None = None
    on_baseline: bool = True
    beside: "Operation | None" = None
    deletes: bool = False


def _users(bench_data: BenchData, tokens: Tokens, count: int) -> list[tuple[random.Random, User, str]]:
    """Tokens in turn, and a random generator with the same seed in every run."""
    chance = random.Random(CHANCE)
    return [(chance, user, tokens[user.id]) for user in chance.choices(bench_data.users, k=count)]


def reads(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        Request(path=f"/api/products/{chance.choice(bench_data.products[user.tenant_id])}", token=token)
        for chance, user, token in _users(bench_data, tokens, MANY)
    ]


def pages(more: str = "") -> Load:
    """Pages of one category's living products."""

    def load(bench_data: BenchData, tokens: Tokens) -> list[Request]:
        return [
            Request(
                path=f"/api/products?categoryId={_category(bench_data, user, chance)}&status=live{more}", token=token
            )
            for chance, user, token in _users(bench_data, tokens, MANY)
        ]

    return load


def prices(more: str = "") -> Load:
    """Pages of a category, which its name finds, between two prices, the dearest first."""

    def load(bench_data: BenchData, tokens: Tokens) -> list[Request]:
        count = bench_data.size.categories_each
        return [
            Request(
                path=f"/api/products?category.name=Category+{chance.randrange(count)}&minPrice={chance.randrange(500)}"
                f"&maxPrice={chance.randrange(5_000, 10_000)}&sort=price:desc{more}",
                token=token,
            )
            for chance, _, token in _users(bench_data, tokens, MANY)
        ]

    return load


def lists(query: str) -> Load:
    return lambda bench_data, tokens: [
        Request(path=f"/api/products?{query}", token=token) for _, _, token in _users(bench_data, tokens, MANY)
    ]


def deep_pages(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    """The last tenth of each tenant's pages."""
    last = bench_data.size.rows_each // 20
    return [
        Request(path=f"/api/products?page={chance.randint(last - last // 10, last)}", token=token)
        for chance, _, token in _users(bench_data, tokens, MANY)
    ]


def _category(bench_data: BenchData, user: User, chance: random.Random) -> UUID:
    return chance.choice(bench_data.categories[user.tenant_id])


def _product(bench_data: BenchData, user: User, chance: random.Random) -> dict[str, object]:
    """A body; its sku ends with MARK, so that each request has its own."""
    return {
        "name": f"Measured {chance.choice(['lamp', 'bench', 'kettle'])} {chance.randrange(10_000)}",
        "sku": f"{TRANSIENT}{MARK}",
        "description": "Made while the clock ran, to see how long it takes; it is gone before the next run.",
        "price": chance.randrange(100_000) / 100,
        "stock": chance.randrange(500),
        "status": "live",
        "categoryId": str(_category(bench_data, user, chance)),
    }


def creates(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        posting("/api/products", token, _product(bench_data, user, chance))
        for chance, user, token in _users(bench_data, tokens, 500)
    ]


def updates(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    return [
        Request(
            method="PUT",
            path=f"/api/products/{chance.choice(bench_data.products[user.tenant_id])}",
            token=token,
            body=_json({"price": chance.randrange(100_000) / 100, "stock": chance.randrange(500)}),
        )
        for chance, user, token in _users(bench_data, tokens, MANY)
    ]


def batches(items: int) -> Load:
    def load(bench_data: BenchData, tokens: Tokens) -> list[Request]:
        return [
            posting("/api/products/batch", token, {"items": [_product(bench_data, user, chance) for _ in range(items)]})
            for chance, user, token in _users(bench_data, tokens, 10)
        ]

    return load


def exports(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    return [Request(path="/api/products/export?format=csv", token=token) for token in _one_each(bench_data, tokens)]


def imports(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    """One import of each tenant in turn: a tenant has two places for transfers, and four connections load at once."""
    chance = random.Random(CHANCE)
    users = {user.tenant_id: user for user in bench_data.users}.values()
    return [_import(bench_data, user, tokens[user.id], chance) for user in users]


def _import(bench_data: BenchData, user: User, token: str, chance: random.Random) -> Request:
    rows = [_product(bench_data, user, chance) for _ in range(1_000)]
    lines = [",".join(rows[0]), *(",".join(f'"{cell}"' for cell in row.values()) for row in rows)]
    part = 'Content-Disposition: form-data; name="file"; filename="products.csv"\r\nContent-Type: text/csv'
    body = "\r\n".join([f"--{BOUNDARY}", part, "", *lines, f"--{BOUNDARY}--", ""])
    return Request(method="POST", path="/api/products/import", token=token, body=body, content_type=FORM)


def logins(bench_data: BenchData, _: Tokens) -> list[Request]:
    return [
        posting("/api/auth/login", None, {"email": user.email, "password": PASSWORD, "isPasswordEncrypted": False})
        for user in bench_data.users
    ]


def identities(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    return [Request(path="/api/auth/me", token=tokens[user.id]) for user in bench_data.users]


def _one_each(bench_data: BenchData, tokens: Tokens) -> list[str]:
    """A token of each tenant."""
    return list({user.tenant_id: tokens[user.id] for user in bench_data.users}.values())


def refreshing(_: BenchData, __: Tokens) -> Follow:
    request = Request(method="POST", path="/api/auth/refresh", body=_json({"refreshToken": "$next"}))
    return Follow(request, ("data", "refreshToken"))


def walking(bench_data: BenchData, tokens: Tokens) -> Follow:
    """Pages of all products of one tenant, in order."""
    return Follow(
        Request(path="/api/products?count=none&cursor=$next", token=_one_each(bench_data, tokens)[0]),
        ("data", "nextCursor"),
    )


def walk(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    return [Request(path="/api/products?count=none", token=_one_each(bench_data, tokens)[0])]


def deletes(bench_data: BenchData, tokens: Tokens) -> list[Request]:
    """One request for each tenant in turn, in the order of the rows to delete."""
    of_tenant = {user.tenant_id: tokens[user.id] for user in bench_data.users}
    path = f"/api/products/{DELETED_UUID}"
    return [Request(method="DELETE", path=path, token=of_tenant[tenant]) for tenant in bench_data.tenants]


def _json(body: object) -> str:
    return json.encode(body).decode()


LOGIN = Operation(
    name="login",
    title="login (Argon2id 19 MiB, t=2)",
    load=logins,
    goal=0.97,
    tool="client",
    connections=4,
    expects='"tokenType":"Tenant"',
)
ME = Operation(name="me", title="`me` from claims", load=identities, goal=0.45, expects='"permissions":["create:')

MAIN = (
    Operation(name="get", title="GET by id", load=reads, goal=0.70, expects='"sku":"SKU-'),
    Operation(name="page", title="filtered page of 20, with total", load=pages(), goal=0.85, expects='"totalCount":'),
    Operation(
        name="include",
        title="the same with an include",
        load=pages("&include=category"),
        goal=0.80,
        expects='"category":{',
    ),
    Operation(
        name="prices", title="by category's name and price, sorted", load=prices(), goal=0.80, expects='"totalCount":'
    ),
    Operation(
        name="prices-include",
        title="by name and price, with an include",
        load=prices("&include=category"),
        goal=0.75,
        expects='"category":{',
    ),
    Operation(name="create", title="create", load=creates, goal=0.60, expects='"sku":"B-'),
    Operation(name="update", title="update", load=updates, goal=0.60, expects='"sku":"SKU-'),
    Operation(name="delete", title="delete", load=deletes, goal=0.60, expects="", deletes=True),
    Operation(name="batch", title="batch of 100", load=batches(100), goal=0.90, connections=8, expects='"created":100'),
    Operation(
        name="export",
        title="export of a tenant's rows, CSV",
        load=exports,
        goal=1.0,
        tool="client",
        connections=4,
        expects="SKU-",
    ),
    Operation(
        name="import",
        title="import of 1,000 rows",
        load=imports,
        goal=0.92,
        tool="client",
        connections=4,
        expects='"imported":1000',
    ),
    LOGIN,
    ME,
)

FURTHER = (
    Operation(name="deep", title="deep page", load=deep_pages, connections=16, expects='"items":[{'),
    Operation(
        name="search", title="search, two words", load=lists("search=oak+kettle"), connections=16, expects='"items":[{'
    ),
    Operation(name="batch1000", title="batch of 1,000", load=batches(1_000), connections=4, expects='"created":1000'),
    Operation(
        name="walk",
        title="keyset walk",
        load=walk,
        tool="client",
        connections=8,
        follow=walking,
        on_baseline=False,
        expects='"nextCursor":',
    ),
    Operation(
        name="refresh",
        title="refresh",
        load=logins,
        tool="client",
        connections=8,
        follow=refreshing,
        on_baseline=False,
        expects='"refreshToken":',
    ),
    replace(ME, name="mixed", title="`me` while logins run", goal=None, connections=32, beside=LOGIN),
    replace(LOGIN, name="mixed-login", title="login while `me` runs", goal=None, beside=ME),
)
