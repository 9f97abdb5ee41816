"""Connections: the pool, the scope of a connection, codecs, and errors of the driver.

No statement about a table stands here.
"""
