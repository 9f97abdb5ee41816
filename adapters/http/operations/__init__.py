"""Endpoints and records for operators: health, metrics, traffic, settings, mails in files, access log, timing."""
