"""Use cases of identity for account holders; ``login/`` starts sessions, ``administration/`` is for administrators.

HTTP and SQL do not belong here.
"""
