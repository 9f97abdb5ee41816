"""The path of every request: routing, client address, token, limits, body, errors and responses.

This package does not depend on any endpoint.
"""
