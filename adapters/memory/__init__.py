"""Adapters of every port in dictionaries of one process, held to the same contracts as the servers' adapters.

Part of the product: users' own tests run on them.
"""
