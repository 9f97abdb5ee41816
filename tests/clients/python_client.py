"""The scenario with openapi-python-client: ``python python_client.py URL EMAIL PASSWORD PREFIX``."""

import sys
from collections.abc import Iterator
from io import BytesIO

from tenantry_client import AuthenticatedClient, Client
from tenantry_client.api.auth import auth_login, auth_refresh, auth_switch_tenant
from tenantry_client.api.products import products_create_batch, products_import, products_page
from tenantry_client.models import (
    ErrorA,
    ErrorB,
    ImportForm,
    ImportFormOptions,
    LoginForm,
    ProductBatchCreate,
    ProductCreate,
    ProductsPageFilters,
    RefreshForm,
    SwitchForm,
)
from tenantry_client.types import UNSET, File, Unset


def log_in(url: str, email: str, password: str) -> AuthenticatedClient:
    """Logs in, switches to the tenant, and renews the token."""
    login = auth_login.sync(client=Client(url), body=LoginForm(email=email, password=password))
    assert login is not None
    assert not isinstance(login, ErrorA), login
    assert login.data.current_tenant is not None
    client = AuthenticatedClient(url, token=login.data.token)
    switched = auth_switch_tenant.sync(client=client, body=SwitchForm(tenant_id=login.data.current_tenant.id))
    assert switched is not None
    assert not isinstance(switched, ErrorA), switched
    renewed = auth_refresh.sync(client=Client(url), body=RefreshForm(refresh_token=switched.data.refresh_token))
    assert renewed is not None
    assert not isinstance(renewed, ErrorA), renewed
    return AuthenticatedClient(url, token=renewed.data.token)


def pages(client: AuthenticatedClient, prefix: str) -> Iterator[str | Unset]:
    """SKUs of all products with the prefix, by cursor."""
    cursor: str | Unset = UNSET
    filters = ProductsPageFilters.from_dict({"sku.startsWith": prefix, "price.gte": 1})
    while True:
        page = products_page.sync(
            client=client, page_size=2, sort="sku:asc", fields="sku", cursor=cursor, filters=filters
        )
        assert page is not None
        assert not isinstance(page, ErrorB), page
        yield from (product.sku for product in page.data.items)
        cursor = page.data.next_cursor
        if isinstance(cursor, Unset):
            break


def main(url: str, email: str, password: str, prefix: str) -> None:
    client = log_in(url, email, password)
    items = [ProductCreate(name=f"Lamp {n}", sku=f"{prefix}-{n}", price=n) for n in (1, 2, 3)]
    made = products_create_batch.sync(client=client, body=ProductBatchCreate(items=items))
    assert made is not None
    assert not isinstance(made, ErrorB), made
    assert list(pages(client, prefix)) == [item.sku for item in items]

    rows = BytesIO(f"name,sku,price\nCup,{prefix}-9,2.50\n".encode())
    form = ImportForm(file=File(rows, "products.csv", "text/csv"), options=ImportFormOptions(atomic=True))
    imported = products_import.sync(client=client, body=form)
    assert imported is not None
    assert not isinstance(imported, ErrorB), imported
    assert imported.data.imported == 1, imported
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
