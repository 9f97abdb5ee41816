"""Second factors in memory.

The parent folder has the rest of identity.
"""
