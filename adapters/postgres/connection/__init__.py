"""Connections: the pool, the scope of a connection, codecs, and driver errors.

Statements about tables do not belong here.
"""
