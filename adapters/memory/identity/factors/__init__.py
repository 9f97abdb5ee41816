"""Second factors in memory.

Everything else of identity stands in the folder above.
"""
