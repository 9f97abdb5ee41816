"""All stored data of a person, for the export of the account.

The parent folder has the tables of accounts.
"""
