"""The service's keys, made once for all applications of a test run: an RSA key takes a tenth of a second."""

from entrypoints.testing.app import ensure_keys

__all__ = ["ensure_keys"]
