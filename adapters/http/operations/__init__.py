"""Endpoints and records for operators: health, metrics, access log, ``Server-Timing``."""
