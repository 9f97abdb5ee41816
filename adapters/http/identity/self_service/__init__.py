"""Endpoints by which people look after their own accounts: address, identities, and what is stored about them.

Passwords, factors and sessions have files of their own in the folder above.
"""
