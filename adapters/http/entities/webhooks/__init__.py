"""Endpoints of webhooks."""
