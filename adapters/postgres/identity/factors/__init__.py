"""Statements on second factors.

Everything else of identity stands in the folder above.
"""
