"""Files of migrations that are applied beside reads and writes: what they hold, how they are written and applied.

Decision 0012 says why. Nothing here may lock a table longer than a moment.
"""
