"""Webhooks and their deliveries, in PostgreSQL."""
