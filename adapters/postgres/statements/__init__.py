"""Compilation of SQLAlchemy Core statements to SQL text for asyncpg.

Core builds every statement with varying columns, tables, conditions or order. No statement is concatenated from
strings.
"""
