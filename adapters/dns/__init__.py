"""DNS lookups with dnspython.

``domain/identity/domains.py`` decides what a record proves.
"""
