"""Endpoints of administration: users with their sessions, roles, permissions, memberships, tenants and settings."""
