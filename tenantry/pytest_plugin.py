"""Fixtures for the tests of a project, which pytest finds by itself: see ``docs/testing.md``."""

from entrypoints.testing.plugin import pytest_configure, tenantry_client, tenantry_settings

__all__ = ["pytest_configure", "tenantry_client", "tenantry_settings"]
