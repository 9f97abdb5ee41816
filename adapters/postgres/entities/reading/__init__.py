"""Statements that read rows of entities, and the JSON of these rows.

`select_rows` builds the statements, `select` caches and runs them, `row_encoder` writes the JSON. No statement here
changes a row.
"""
