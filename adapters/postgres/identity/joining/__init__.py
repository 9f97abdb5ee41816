"""Ways into a tenant, in PostgreSQL: invitations.

Accounts and memberships themselves stand in the folder above.
"""
