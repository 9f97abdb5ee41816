"""Commands for tenants, accounts and roles; ``commands`` declares them."""
