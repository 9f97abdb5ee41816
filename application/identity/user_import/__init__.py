"""Import of users by the operator: rows of a file, and their accounts."""
