"""Fixtures: applications with two tenants and their users."""

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest_asyncio

from domain.entities.catalogue import ENTITIES
from tests.http.app import ADMIN, TestApp
from tests.http.two_tenants import TwoTenants, open_seeded, open_two_tenants
from tests.library import LIBRARY

if TYPE_CHECKING:
    from playwright.async_api import Browser


@pytest_asyncio.fixture
async def app() -> AsyncIterator[TestApp]:
    """Two tenants, ``acme`` and ``other``, with an admin each, and in ``acme`` somebody who may only read."""
    opened = await open_seeded(seed, ENTITIES)
    yield opened
    await opened.client.aclose()


@pytest_asyncio.fixture
async def library() -> AsyncIterator[TestApp]:
    """The same two tenants, whose shelves are of tests/library.py."""
    opened = await open_seeded(seed, LIBRARY)
    yield opened
    await opened.client.aclose()


async def seed(opened: TestApp) -> None:
    await opened.login("root", ADMIN)
    for identifier in ("acme", "other"):
        await opened.make_tenant(identifier)
        await opened.make_user(identifier, f"admin@{identifier}.example", ["Admin"])
        await opened.login(identifier, f"admin@{identifier}.example")
    await opened.make_role("acme", "Reader", ["read:products", "read:users"])
    await opened.make_user("acme", "reader@acme.example", ["Reader"])
    await opened.login("reader", "reader@acme.example")


@pytest_asyncio.fixture(scope="module")
async def chromium() -> "AsyncIterator[Browser]":
    """One browser for all tests of a file, in each of which a page has a context of its own."""
    from playwright.async_api import async_playwright

    from tests.http.docs.test_docs_page import BROWSER, FLAGS

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=BROWSER, headless=True, args=FLAGS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture
async def tenants() -> AsyncIterator[TwoTenants]:
    async with open_two_tenants() as tenants:
        yield tenants
