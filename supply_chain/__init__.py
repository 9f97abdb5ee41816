"""What is shipped beside our own code: a list for machines, and an audit. For this repository, not in the wheel."""
