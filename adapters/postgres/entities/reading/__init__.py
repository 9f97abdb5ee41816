"""Statements that read rows of entities, and the JSON made of their rows.

`select_rows` builds the statements, `select` remembers and runs them, `row_encoder` writes their rows as JSON.
No statement here changes a row.
"""
