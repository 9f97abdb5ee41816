"""Use cases of area A for the account holder; ``login/`` starts sessions, ``administration/`` is for administrators.

No HTTP and no SQL.
"""
