"""Files of rows in memory."""
