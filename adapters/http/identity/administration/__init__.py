"""Endpoints of administration: users and their sessions, roles, permissions, memberships, tenants and settings."""
