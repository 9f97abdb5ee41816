"""Online migration files, applied during reads and writes: content, writing and application.

Decision 0012 has the reasons. No operation here may lock a table longer than a moment.
"""
