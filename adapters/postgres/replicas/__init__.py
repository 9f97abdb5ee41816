"""Read replicas: how far each has come, and which one a read may ask.

Must not hold: statements over tables, which are the same on a replica as on the primary.
"""
