"""Ways into a tenant, in memory: invitations, domains, requests to join, and marks of former members.

Accounts and memberships themselves stand in the folder above.
"""
