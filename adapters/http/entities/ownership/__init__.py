"""Handlers for what ownership adds to rows: shares."""
