"""The service as HTTP and JSON: Litestar handlers in folders by subject, and the middleware of every request."""
