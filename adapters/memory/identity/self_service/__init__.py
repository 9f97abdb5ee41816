"""Everything that is stored about a person, read for the export of their account.

The tables of accounts have files of their own in the folder above.
"""
