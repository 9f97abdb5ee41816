"""The service measured against a floor: the bare framework, written by hand for one table."""
