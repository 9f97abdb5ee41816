"""Traces by OpenTelemetry: its instrumentation for requests and SQL, and the service's own spans for Redis.

Loaded only if the environment configures traces. Traces never change an answer.
"""
