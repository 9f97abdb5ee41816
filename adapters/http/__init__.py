"""The service over HTTP and JSON: Litestar handlers in folders by subject, and the middleware for every request."""
