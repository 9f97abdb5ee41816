"""Ways into a tenant, in memory: invitations.

Accounts and memberships themselves stand in the folder above.
"""
