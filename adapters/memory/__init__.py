"""Every port in dictionaries of one process: shipped, typed, held to the same contracts."""
