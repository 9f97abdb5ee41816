"""In-memory application for the tests of a project. See ``docs/testing.md``."""

from entrypoints.testing.app import ADMIN_EMAIL, ADMIN_PASSWORD, MemoryApp, open_app
from entrypoints.testing.client import TenantryClient, open_client

__all__ = ["ADMIN_EMAIL", "ADMIN_PASSWORD", "MemoryApp", "TenantryClient", "open_app", "open_client"]
