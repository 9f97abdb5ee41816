"""Rules of entities: declarations and the models made of them, bodies, files; ``query/`` has the query grammar.

Nothing here reads or writes a store.
"""
