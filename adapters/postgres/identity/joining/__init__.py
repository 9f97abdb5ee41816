"""Joining a tenant, in PostgreSQL: invitations, domains, join requests, and marks of former members.

The parent folder has accounts and memberships.
"""
