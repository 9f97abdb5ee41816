"""Commands that look at settings, declarations and servers, and change nothing."""
