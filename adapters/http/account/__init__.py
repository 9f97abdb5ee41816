"""Pages for signing in, registering and managing an account, for products without such pages.

Their scripts are built from ``adapters/console/source`` into ``adapters/http/assets/account``; their texts are in
``domain/words``. The pages call the public API like any client.
"""
