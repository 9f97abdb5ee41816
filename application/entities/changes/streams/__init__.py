"""Open streams of this process: one reader per tenant delivers new events to all streams of the tenant."""
