"""The log of changes: which entities have a feed, and what an entry means to a reader."""
