"""Rules of entities: declarations and their models, bodies and files; ``query/`` has the query grammar.

No database access.
"""
