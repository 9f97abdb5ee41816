"""A place to act in, already furnished."""

from collections.abc import AsyncIterator

import pytest_asyncio

from tests.http.app import ADMIN, Place, open_place
from tests.http.two_tenants import Town, open_town
from tests.library import LIBRARY


@pytest_asyncio.fixture
async def place() -> AsyncIterator[Place]:
    """Two tenants, ``acme`` and ``other``, with an admin each, and in ``acme`` somebody who may only read."""
    opened = await open_place()
    await furnish(opened)
    yield opened
    await opened.client.aclose()


@pytest_asyncio.fixture
async def library() -> AsyncIterator[Place]:
    """The same two tenants, whose shelves are of tests/library.py."""
    opened = await open_place(entities=LIBRARY)
    await furnish(opened)
    yield opened
    await opened.client.aclose()


async def furnish(opened: Place) -> None:
    await opened.login("root", ADMIN)
    for identifier in ("acme", "other"):
        await opened.make_tenant(identifier)
        await opened.make_user(identifier, f"admin@{identifier}.example", ["Admin"])
        await opened.login(identifier, f"admin@{identifier}.example")
    await opened.make_role("acme", "Reader", ["read:products", "read:users"])
    await opened.make_user("acme", "reader@acme.example", ["Reader"])
    await opened.login("reader", "reader@acme.example")


@pytest_asyncio.fixture
async def town() -> AsyncIterator[Town]:
    async with open_town() as town:
        yield town
