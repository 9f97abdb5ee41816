"""The processes of ``tenantry serve``: servers, workers, logs and background tasks."""
