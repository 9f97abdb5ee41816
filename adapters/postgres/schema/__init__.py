"""The description of all tables, of their constraints and of row-level security.

Migrations and statements are both made from it.
"""
