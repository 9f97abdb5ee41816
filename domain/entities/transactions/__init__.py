"""Bodies of requests that write several rows in one transaction."""
