"""Endpoints of the ways into a tenant: invitations, domains, requests to join, a tenant of one's own; and of owners."""
