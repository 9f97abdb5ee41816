"""Handlers that read rows in other forms than pages: summaries."""
