"""Writing rows of entities: the statements, the order in which they run, and what their errors mean.

Statements stand in modules called ``…_statements``, built by Core and without a connection; the others run them.
"""
