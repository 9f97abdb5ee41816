"""Audit trail, token versions and retention in memory. The parent folder has the outbox with the mailer."""
