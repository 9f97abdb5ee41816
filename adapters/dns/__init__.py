"""Look-ups in the domain name system, by dnspython.

What a record proves is decided in ``domain/identity/domains.py``.
"""
