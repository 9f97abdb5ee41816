"""Service accounts and their API keys, in memory.

Nothing else of identity stands here.
"""
