"""The log of changes in memory."""
