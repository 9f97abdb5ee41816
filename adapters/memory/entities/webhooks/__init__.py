"""Webhooks and their deliveries, in memory."""
