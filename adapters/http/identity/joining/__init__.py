"""Endpoints for joining a tenant: invitations, domains, requests and new tenants. Also ownership."""
