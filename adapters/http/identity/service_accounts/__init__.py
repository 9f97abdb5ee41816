"""Endpoints of service accounts: their administration, their keys, and their tokens.

People and what they do with their sessions stand in the folder above.
"""
