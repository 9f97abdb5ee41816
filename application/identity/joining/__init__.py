"""Joining a tenant: invitations, domains, requests, and new tenants. Also ownership and leaving.

Administrators' changes to existing accounts and memberships are in ``administration``.
"""
