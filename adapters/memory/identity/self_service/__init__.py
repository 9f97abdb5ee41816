"""What people are shown and given of their own accounts.

The tables of accounts have files of their own in the folder above.
"""
