"""Use cases of identity for account holders; ``login/`` starts sessions, ``administration/`` is for administrators.

No HTTP and no SQL.
"""
