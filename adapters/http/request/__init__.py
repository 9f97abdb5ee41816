"""The path of every request: routing, client address, token, limits, body, errors and responses.

Nothing here knows an endpoint.
"""
