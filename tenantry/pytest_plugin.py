"""Pytest fixtures for a project's tests; pytest finds them automatically. See ``docs/testing.md``."""

from entrypoints.testing.plugin import pytest_configure, tenantry_client, tenantry_settings

__all__ = ["pytest_configure", "tenantry_client", "tenantry_settings"]
