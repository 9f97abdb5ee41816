"""Use cases that start, renew and end sessions by password.

Changes of the account are in ``account`` and ``self_service``.
"""
