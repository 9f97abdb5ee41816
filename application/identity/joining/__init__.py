"""Ways into a tenant: invitations.

What administrators do to accounts and memberships that exist stands in ``administration``.
"""
