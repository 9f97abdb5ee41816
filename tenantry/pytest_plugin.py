"""Fixtures for the tests of a project, which pytest finds by itself: see ``docs/testing.md``."""

from entrypoints.fixtures.plugin import tenantry_client, tenantry_settings

__all__ = ["tenantry_client", "tenantry_settings"]
