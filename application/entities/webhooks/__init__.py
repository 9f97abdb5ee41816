"""Use cases of webhooks: administration, and the delivery of changes."""
