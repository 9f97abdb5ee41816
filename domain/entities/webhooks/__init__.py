"""Webhooks: destinations, event patterns, and the times of a delivery."""
