"""Use cases that pass a finished login from the service's own pages to a registered application.

Authentication is in ``login`` and ``factors``.
"""
