"""In-memory adapters of every port. They pass the same contract tests as the adapters of the servers.

They are part of the product: users' own tests run on them.
"""
