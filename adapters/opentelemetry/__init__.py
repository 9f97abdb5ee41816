"""Traces by OpenTelemetry: requests and SQL by their instrumentation, Redis by spans of our own.

Loaded only where the environment asks for traces. It decides nothing and changes no answer.
"""
