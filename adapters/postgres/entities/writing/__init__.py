"""Writes of entity rows: the statements, their order, and the meaning of their errors.

Modules called ``…_statements`` build Core statements, without a connection; the others run them.
"""
