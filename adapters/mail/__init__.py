"""Mail: how letters read, and the ways by which they leave."""
