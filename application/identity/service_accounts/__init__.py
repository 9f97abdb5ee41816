"""Use cases of service accounts: administration, keys and authentication.

Service accounts use the same code as users for everything else.
"""
