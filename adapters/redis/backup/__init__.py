"""Redis after a restore: what it holds belongs to the replaced database.

It decides nothing about requests.
"""
