"""Use cases that start, renew and end a session, by password or by a social provider.

Changes of the account itself stand in the folder above.
"""
