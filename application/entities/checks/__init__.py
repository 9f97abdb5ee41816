"""Checks of writes: conditions on stored rows, rules on rows, and the effects of deletions."""
