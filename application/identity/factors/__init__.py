"""Use cases of second factors: showing one, setting some up, and losing them.

The gate that asks for them stands beside the logins.
"""
