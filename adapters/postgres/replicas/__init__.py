"""Read replicas: their replay positions, and the choice of one for a read.

Statements on tables do not belong here, because they are the same on replica and primary.
"""
