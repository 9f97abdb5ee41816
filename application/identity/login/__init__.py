"""Use cases that start, renew and end a session, by password or by a social provider.

What an account holder changes about the account stands one folder up.
"""
