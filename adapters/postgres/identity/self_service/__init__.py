"""All stored data about a person, for the export of their account.

The parent folder has the account tables.
"""
