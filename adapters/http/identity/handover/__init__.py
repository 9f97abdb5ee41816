"""Handlers that hand a login over to a registered application.

The pages that people see stand in ``adapters/http/account``.
"""
