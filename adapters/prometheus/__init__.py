"""Metrics by prometheus_client, and the files by which the processes of one machine add up what they count."""
