"""Ways into a tenant: invitations, domains, requests to join, a tenant of one's own. Owners, and leaving, too.

What administrators do to accounts and memberships that exist stands in ``administration``.
"""
