"""Metrics by prometheus_client, and the files in which one machine's processes sum their counters."""
