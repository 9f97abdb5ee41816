"""Audit trail, token versions and retention in memory; the outbox is in the folder above, with the mailer."""
