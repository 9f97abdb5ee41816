"""Measures the service against a baseline: the bare framework, written by hand for one table."""
