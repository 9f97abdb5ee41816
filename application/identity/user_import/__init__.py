"""Import of users by the operator: the rows of a file, and the accounts that they make."""
