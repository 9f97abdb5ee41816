"""What a peer's requests and answers look like: paths, names of fields, places of values in the JSON."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from msgspec import Struct, json

from benchmarks.requests import DELETED_UUID, FORM_OF_FIELDS, JSON, MARK

Keys = tuple[str | int, ...]
Product = Mapping[str, Any]


class Dialect(Struct, frozen=True, kw_only=True):
    """Requests and answers of a peer.

    Paths take ``{id}``, ``{page}``, ``{tenant}``, ``{category}``, ``{least}`` and ``{most}``; those of pages ask for 20
    rows, the newest first or the dearest first. ``export_path`` is None where the peer has none. ``products`` leads to
    the rows of a page in its JSON, ``total`` to their number, ``category_name`` to the category's name in a row,
    ``row`` to the row of an answer, ``token`` to the token of a login.
    """

    row_path: str
    page_path: str
    filtered_path: str
    included_path: str
    create_path: str
    batch_path: str
    export_path: str | None
    login_path: str
    change_method: str = "PATCH"
    login_type: str = JSON
    login_body: Callable[[str, str], str]
    product: Callable[[Product, UUID], Product]
    batch: Callable[[Sequence[Product]], Any]
    id_of: Callable[[UUID], str] = str
    deleted_id: str = DELETED_UUID
    products: Keys
    total: Keys
    row: Keys = ()
    category_name: Keys = ("category", "name")
    token: Keys


def value_at(answer: Any, keys: Keys) -> Any:
    """The value that the keys lead to in JSON; None where it is not there."""
    for key in keys:
        try:
            answer = answer[key]
        except (KeyError, IndexError, TypeError):
            return None
    return answer


def _credentials(email: str, password: str) -> str:
    return json.encode({"email": email, "password": password}).decode()


def _snake_case(product: Product, _: UUID) -> Product:
    return {
        **{name: value for name, value in product.items() if name != "category"},
        "category_id": product["category"],
    }


def _camel_case(product: Product, _: UUID) -> Product:
    return {**{name: value for name, value in product.items() if name != "category"}, "categoryId": product["category"]}


def _items(products: Sequence[Product]) -> Any:
    return {"items": products}


SERVICE = Dialect(
    row_path="/api/products/{id}",
    page_path="/api/products?page={page}",
    filtered_path="/api/products?categoryId={category}&status=live&minPrice={least}&maxPrice={most}&sort=price:desc",
    included_path="/api/products?categoryId={category}&status=live&minPrice={least}&maxPrice={most}&sort=price:desc"
    "&include=category",
    create_path="/api/products",
    batch_path="/api/products/batch",
    export_path="/api/products/export?format=csv",
    login_path="/api/auth/login",
    change_method="PUT",
    login_body=lambda email, password: json.encode(
        {"email": email, "password": password, "isPasswordEncrypted": False}
    ).decode(),
    product=_camel_case,
    batch=_items,
    products=("data", "items"),
    total=("data", "totalCount"),
    row=("data",),
    token=("data", "token"),
)

_FASTCRUD_FILTER = (
    "?page=1&itemsPerPage=20&category_id={category}&status=live&price__gte={least}&price__lte={most}&sort=-price"
)

FASTCRUD = Dialect(
    row_path="/api/products/{id}",
    page_path="/api/products?page={page}&itemsPerPage=20&sort=-created_at,-id",
    filtered_path=f"/api/products{_FASTCRUD_FILTER}",
    included_path=f"/api/products-in-categories{_FASTCRUD_FILTER}",
    create_path="/api/products",
    batch_path="/api/products/batch",
    export_path="/api/products/export",
    login_path="/api/auth/login",
    login_type=FORM_OF_FIELDS,
    login_body=lambda email, password: f"username={email.replace('@', '%40')}&password={password.replace(' ', '+')}",
    product=_snake_case,
    batch=_items,
    products=("data",),
    total=("total_count",),
    token=("access_token",),
)

_DRF_FILTER = "?category={category}&status=live&price__gte={least}&price__lte={most}&ordering=-price"

DRF = Dialect(
    row_path="/api/products/{id}/",
    page_path="/api/products/?page={page}",
    filtered_path=f"/api/products/{_DRF_FILTER}",
    included_path=f"/api/products/in-categories/{_DRF_FILTER}",
    create_path="/api/products/",
    batch_path="/api/products/batch/",
    export_path="/api/products/export/",
    login_path="/api/auth/login",
    login_body=_credentials,
    product=lambda product, _: product,
    batch=_items,
    products=("results",),
    total=("count",),
    token=("access",),
)

_ALCHEMY_FILTER = "?category_id={category}&status=live&least={least}&most={most}&orderBy=price&sortOrder=desc"

ALCHEMY = Dialect(
    row_path="/api/products/{id}",
    page_path="/api/products?currentPage={page}",
    filtered_path=f"/api/products{_ALCHEMY_FILTER}",
    included_path=f"/api/products/in-categories{_ALCHEMY_FILTER}",
    create_path="/api/products",
    batch_path="/api/products/batch",
    export_path="/api/products/export",
    login_path="/api/auth/login",
    login_body=_credentials,
    product=_snake_case,
    batch=_items,
    products=("items",),
    total=("total",),
    token=("token",),
)

_RECORDS = "/api/collections/products/records"
# The tenant stands in the filter too: the rule alone, which PocketBase compares as an expression, uses no index.
_AND, _AT_LEAST, _AT_MOST = "%26%26", "%3E%3D", "%3C%3D"
_POCKETBASE_FILTER = (
    f"?perPage=20&sort=-price&filter=(tenant='{{tenant}}'{_AND}category='{{category}}'{_AND}status='live'"
    f"{_AND}price{_AT_LEAST}{{least}}{_AND}price{_AT_MOST}{{most}})"
)


def id_of_record(row_id: UUID) -> str:
    """The id of a row in PocketBase, whose ids have 15 characters."""
    return row_id.hex[:15]


POCKETBASE = Dialect(
    row_path=f"{_RECORDS}/{{id}}",
    page_path=f"{_RECORDS}?page={{page}}&perPage=20&sort=-created,-id&filter=(tenant='{{tenant}}')",
    filtered_path=f"{_RECORDS}{_POCKETBASE_FILTER}",
    included_path=f"{_RECORDS}{_POCKETBASE_FILTER}&expand=category",
    create_path=_RECORDS,
    batch_path="/api/batch",
    export_path=None,
    login_path="/api/collections/users/auth-with-password",
    login_body=lambda email, password: json.encode({"identity": email, "password": password}).decode(),
    product=lambda product, tenant: {**product, "tenant": str(tenant)},
    batch=lambda products: {
        "requests": [{"method": "POST", "url": _RECORDS, "body": product} for product in products],
    },
    id_of=id_of_record,
    deleted_id=f"delete{MARK}",
    products=("items",),
    total=("totalItems",),
    category_name=("expand", "category", "name"),
    token=("token",),
)
