"""An application in memory for the tests of a project: see ``docs/testing.md``."""

from entrypoints.fixtures.client import TenantryClient, open_client
from entrypoints.testing import ADMIN_EMAIL, ADMIN_PASSWORD, MemoryApp, open_app

__all__ = ["ADMIN_EMAIL", "ADMIN_PASSWORD", "MemoryApp", "TenantryClient", "open_app", "open_client"]
